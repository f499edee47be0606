/** Every row of spec.md's error table for webhooks on both hosts, with its body: what a git host and a person get to see. */
import { gzipSync } from "node:zlib";
import { sql } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { edgeRole } from "../../../shared/db/edge-role.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { edgeUnderTest, onNode } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, request, rowsOf, seedProject } from "./scene.ts";

const scene = openScene();
const instance = { instanceWebhookSecret: "secret-of-the-instance" };
const sentence = expect.stringMatching(/^[A-Z].*\.$/);

async function answered(sent: Promise<Response>) {
  const answer = await sent;
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  return [answer.status, await answer.json()];
}

describe("the body of", () => {
  test("401 has a sentence and a code, also for a body that names no repository", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const refused = [401, { error: sentence, code: "invalid_signature" }];
    expect(await answered(deliver(edge, push(scene), { secret: null }))).toEqual(refused);
    expect(await answered(deliver(edge, push(scene), { secret: "another" }))).toEqual(refused);
    expect(await answered(edge.send(...request("{}")))).toEqual(refused);
  });

  test("400 too, once the signature holds", async () => {
    const edge = edgeUnderTest(scene.db, instance);
    const [path, init] = request("{", { secret: instance.instanceWebhookSecret });
    expect(await answered(edge.send(path, init))).toEqual([400, { error: sentence, code: "malformed_json" }]);
  });

  test("404 is the printed one, its only key", async () => {
    const edge = edgeUnderTest(scene.db);
    expect(await answered(edge.send("/api/webhooks/payments", { method: "POST", body: "{}" }))).toEqual([
      404,
      { error: "Webhook provider 'payments' is not configured" },
    ]);
  });

  test("413 and 429 too, and 429 says when to come again", async () => {
    const edge = edgeUnderTest(scene.db);
    const large = " ".repeat(limits.webhookBodyBytes + 1);
    expect(await answered(edge.send(...request(large)))).toEqual([
      413,
      { error: sentence, code: "too_large" },
    ]);
    const knock = () => edge.send("/api/webhooks/nobody", { method: "POST", body: "", from: "192.0.2.77" });
    await Promise.all(Array.from({ length: limits.webhookPerMinute }, knock));
    const flooded = await knock();
    expect(Number(flooded.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Object.fromEntries(flooded.headers)).toMatchObject({
      "ratelimit-limit": "120",
      "ratelimit-remaining": "0",
      "ratelimit-reset": flooded.headers.get("retry-after"),
    });
    expect([flooded.status, await flooded.json()]).toEqual([429, { error: sentence, code: "rate_limited" }]);
  });
});

// What a test cannot reach into another process for, it takes from the role that the worker has in the database.
describe.skipIf(onNode)("a database that fails under the worker", () => {
  const take = (what: string) => scene.db.execute(sql.raw(`revoke ${what} from ${edgeRole}`));
  afterEach(async () => {
    for (const table of ["operations", "webhook_deliveries", "rate_windows"])
      await scene.db.execute(sql.raw(`grant select, insert, update on ${table} to ${edgeRole}`));
  });

  test("before the delivery is stored is 503, so that the git host sends it again", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    await take("insert on webhook_deliveries");
    const answer = await deliver(edge, push(scene));
    expect(answer.headers.get("retry-after")).toBe("30");
    expect([answer.status, await answer.json()]).toEqual([503, { error: sentence, code: "not_stored" }]);
  });

  test("while it counts is 503 too, and nothing is let through uncounted", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    // The settings of this edge are made, and its counts begun, with the first request.
    await deliver(edge, push(scene), { secret: null });
    await take("insert on rate_windows");
    const answer = await deliver(edge, push(scene));
    expect([answer.status, await answer.json()]).toEqual([503, { error: sentence, code: "not_counted" }]);
    expect(await rowsOf(scene)).toEqual([]);
  });

  test("in the handler is 200 with success: false and its two keys, and the row waits for the sweeper", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    await take("insert on operations");
    expect(await answered(deliver(edge, push(scene)))).toEqual([200, { success: false, error: sentence }]);
    expect(await rowsOf(scene)).toMatchObject([{ status: "failed", reason: "handler_failed" }]);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
  });
});

describe("a body that is no JSON as it stands", () => {
  test.each([
    [
      "a form, which is what git hosts send by default",
      (json: string) => `payload=${encodeURIComponent(json)}`,
    ],
    ["compressed", (json: string) => Uint8Array.from(gzipSync(json))],
  ])(
    "%s: 401 that says which content type is needed, and 400 when the instance signed it",
    async (_what, encode) => {
      const edge = edgeUnderTest(scene.db, instance);
      const projectId = await seedProject(scene);
      const body = encode(JSON.stringify(push(scene)));
      const headers = { "content-type": "application/x-www-form-urlencoded", "content-encoding": "gzip" };
      expect(await answered(edge.send(...request(body, { headers })))).toEqual([
        401,
        { error: expect.stringContaining("application/json"), code: "invalid_signature" },
      ]);
      const [status] = await answered(
        edge.send(...request(body, { headers, secret: instance.instanceWebhookSecret })),
      );
      expect(status).toBe(400);
      expect(await deploymentsOf(scene, projectId)).toEqual([]);
    },
  );
});
