/** 120 deliveries a minute from a source, 5 MiB each (spec.md "Limits"). */
import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import { edgeUnderTest, onNode, testOnNode } from "../edge-under-test.ts";
import { openScene, push, request, seedProject } from "./scene.ts";

const scene = openScene();

describe("limits of the ingress", () => {
  test("120 a minute from one source, and the 121st is 429", async () => {
    const edge = edgeUnderTest(scene.db);
    const from = "198.51.100.1";
    const answers = await Promise.all(
      Array.from({ length: 130 }, () =>
        edge.send("/api/webhooks/nobody", { method: "POST", body: "", from }),
      ),
    );
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused?.headers.get("retry-after")).toMatch(/^(60|5\d)$/);
    expect((await edge.send("/api/webhooks/nobody", { method: "POST", from: "198.51.100.2" })).status).toBe(
      404,
    );
    await edge.clock.advance(60_000);
    expect((await edge.send("/api/webhooks/nobody", { method: "POST", from })).status).toBe(404);
  });

  test("addresses of one IPv6 network count together, and a forged X-Forwarded-For does not help", async () => {
    const edge = edgeUnderTest(scene.db);
    for (let index = 0; index < 120; index++) {
      const headers = { "x-forwarded-for": `203.0.113.${index}` };
      await edge.send("/api/webhooks/x", { method: "POST", from: `2001:db8::${index}`, headers });
    }
    expect((await edge.send("/api/webhooks/x", { method: "POST", from: "2001:db8::beef" })).status).toBe(429);
    expect((await edge.send("/api/webhooks/x", { method: "POST", from: "2001:db8:0:1::1" })).status).toBe(
      404,
    );
  });

  testOnNode(
    "no header but a trusted proxy's says where a delivery comes from, the worker's own included",
    async () => {
      const edge = edgeUnderTest(scene.db, { trustedProxies: ["10.0.0.0/8"] });
      const forged = (index: number, forwarded: string) => {
        const source = `203.0.113.${index}`;
        const others = { "cf-connecting-ip": source, "x-real-ip": source, "true-client-ip": source };
        const headers = { ...others, forwarded: `for=${source}`, "x-forwarded-for": forwarded };
        return edge.send("/api/webhooks/x", { method: "POST", from: "10.0.0.1", headers });
      };
      const ways = ["192.0.2.5", "6.6.6.6, 192.0.2.5", "\u00ff, ,;=, 192.0.2.5:80", "::ffff:192.0.2.5"];
      const statuses: number[] = [];
      for (let index = 0; index < 121; index++)
        statuses.push((await forged(index, ways[index % ways.length] ?? "")).status);
      expect(statuses).toEqual([...Array(120).fill(404), 429]);
      expect((await forged(0, "192.0.2.6")).status).toBe(404);
    },
  );

  testOnNode("sources behind a trusted proxy count apart", async () => {
    const edge = edgeUnderTest(scene.db, { trustedProxies: ["10.0.0.0/8"] });
    const via = (source: string) =>
      edge.send("/api/webhooks/x", {
        method: "POST",
        from: "10.0.0.1",
        headers: { "x-forwarded-for": source },
      });
    for (let index = 0; index < 120; index++) await via("192.0.2.1");
    expect((await via("6.6.6.6, 192.0.2.1")).status).toBe(429);
    expect((await via("192.0.2.2")).status).toBe(404);
  });

  test("a body of 5 MiB is taken and one byte more is 413", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const json = JSON.stringify(push(scene));
    const full = json + " ".repeat(limits.webhookBodyBytes - json.length);
    expect((await edge.send(...request(full))).status).toBe(200);
    expect((await edge.send(...request(`${full} `))).status).toBe(413);
    if (onNode) expect(edge.counters.list()).toMatchObject([{ status: 413, count: 1 }]);
  });
});
