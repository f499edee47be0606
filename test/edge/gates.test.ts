/** Who may pass, in which order, in which spelling of a path (decisions.md section 1). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokens } from "../../shared/db/identity-tables.ts";
import { limits } from "../../shared/domain/limits.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { edgeUnderTest, seedToken, testOnNode } from "./edge-under-test.ts";

let database: TestDatabase;
let owner: { organizationId: string; userId: string };
let all: { id: string; token: string };
let reader: { id: string; token: string };

beforeAll(async () => {
  database = await openTestDatabase();
  owner = await seedOrganization(database.db);
  all = await seedToken(database.db, owner);
  reader = await seedToken(database.db, owner, { permissions: ["deployment:read"] });
});
afterAll(() => database.close());

const json = { "content-type": "application/json" };

describe("who calls", () => {
  test("without a credential everything in the contract is 401", async () => {
    const { send } = edgeUnderTest(database.db);
    const answer = await send("/api/projects");
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: "unauthenticated", error: expect.any(String) });
  });

  test.each([
    "Basic abc",
    "Bearer",
    "Bearer  ",
    "Bearer slp_short",
    `Bearer slp_${"0".repeat(40)}`,
    "Bearer a, Bearer b",
  ])("%s is 401", async (authorization) => {
    const { send } = edgeUnderTest(database.db);
    expect((await send("/api/projects", { headers: { authorization } })).status).toBe(401);
  });

  test("a token that is revoked, expired or without membership is 401", async () => {
    const { send } = edgeUnderTest(database.db);
    const past = new Date(Date.now() - 1_000);
    const revoked = await seedToken(database.db, owner, { revokedAt: past });
    const expired = await seedToken(database.db, owner, { expiresAt: past });
    const stranger = await seedOrganization(database.db);
    const homeless = await seedToken(database.db, {
      organizationId: owner.organizationId,
      userId: stranger.userId,
    });
    for (const { token } of [revoked, expired, homeless]) {
      expect((await send("/api/projects", { token })).status).toBe(401);
    }
  });

  testOnNode("a token counts no longer once it expires, cached or not", async () => {
    const edge = edgeUnderTest(database.db);
    const { token } = await seedToken(database.db, owner, {
      expiresAt: new Date(edge.clock.nowMs() + 5_000),
    });
    expect((await edge.send("/api/projects", { token })).status).toBe(200);
    await edge.clock.advance(6_000);
    expect((await edge.send("/api/projects", { token })).status).toBe(401);
  });

  test("the last use of a token is written, once a minute at most", async () => {
    const edge = edgeUnderTest(database.db);
    const { id, token } = await seedToken(database.db, owner);
    const lastUse = async () =>
      (await database.db.select().from(tokens).where(eq(tokens.id, id)))[0]?.lastUsedAt?.getTime() ?? null;
    await edge.send("/api/projects", { token });
    await expect.poll(lastUse).not.toBeNull();
    const first = await lastUse();
    await edge.send("/api/projects", { token });
    await edge.options.store.touchCredential(id);
    expect(await lastUse()).toBe(first);
  });

  testOnNode("a function's 401 is passed on and the token asked for again", async () => {
    let asked = 0;
    const edge = edgeUnderTest(database.db, {
      forwarder: {
        forward: async () => Response.json({ error: "x", code: "unauthenticated" }, { status: 401 }),
      },
    });
    const { findCredential } = edge.options.store;
    edge.options.store.findCredential = (hash) => {
      asked += 1;
      return findCredential(hash);
    };
    await edge.send("/api/projects", { token: all.token });
    await edge.send("/api/projects", { token: all.token });
    expect(asked).toBe(2);
  });
});

describe("the order of refusals", () => {
  test("an unknown path is 404 before any credential is looked at", async () => {
    const { send } = edgeUnderTest(database.db);
    for (const path of ["/api/nothing", "/api/mail/servers", "/nothing", "/api", "/api/"]) {
      const answer = await send(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toMatchObject({ code: "not_found" });
    }
  });

  test("a known path with another method is 404", async () => {
    const { send } = edgeUnderTest(database.db);
    expect((await send("/api/projects", { method: "PUT" })).status).toBe(404);
    expect((await send("/api/projects", { method: "OPTIONS" })).status).toBe(404);
  });

  test("no credential comes before a missing tag, the tag before the rate, the rate before the size", async () => {
    const { send } = edgeUnderTest(database.db, { apiLimitPerMinute: 1 });
    const body = "x".repeat(limits.jsonBodyBytes + 1);
    const post = { method: "POST", body, headers: json };
    expect((await send("/api/projects", post)).status).toBe(401);
    expect((await send("/api/projects", { ...post, token: reader.token })).status).toBe(403);
    expect((await send("/api/projects", { ...post, token: all.token })).status).toBe(413);
    expect((await send("/api/projects", { ...post, token: all.token })).status).toBe(429);
    expect((await send("/api/projects", { ...post, token: reader.token })).status).toBe(403);
  });

  test("bodies of the deployments module carry success: false, also when the edge refuses", async () => {
    const { send } = edgeUnderTest(database.db);
    expect(await (await send("/api/deployments")).json()).toMatchObject({
      success: false,
      code: "unauthenticated",
    });
    expect(await (await send("/api/projects")).json()).not.toHaveProperty("success");
  });
});

describe("odd spellings", () => {
  test.each([
    "//api/projects",
    "/api//projects",
    "/api/projects/",
    "/API/projects",
    "/api/Projects",
    "/api/proj%65cts",
    "/api%2Fprojects",
    "/api/projects%2F",
    "/api/deployments/%2E%2E/projects/x/y",
    "/api/projects/a%2Fb",
    "/api/projects/a%5Cb",
    "/api/projects/%00",
    "/api/projects/%252e",
    "/api/projects/%",
    "/api/projects/%C0%AE",
    "/api/projects;x=1",
    "/api/projects%3Fx",
    "/api/projects%20",
  ])("%s reaches nothing", async (path) => {
    const { send, reached } = edgeUnderTest(database.db);
    expect((await send(path, { token: all.token })).status).toBe(404);
    expect(reached).toEqual([]);
  });

  test("dots are taken out before the tag is looked up, and never reach a function", async () => {
    const { send, reached } = edgeUnderTest(database.db);
    const answer = await send("/api/deployments/x/../../projects", { token: reader.token });
    expect(answer.status).toBe(403);
    expect(reached).toEqual([]);
  });

  test("what is forwarded is the path that was matched, in one spelling", async () => {
    const { send, reached } = edgeUnderTest(database.db);
    await send("/api/projects/%70rj_1?a=%2F&b=1", { token: all.token });
    expect(reached[0]?.request.url).toBe("http://slipway.internal/api/projects/prj_1?a=%2F&b=1");
  });

  test("a fixed path wins over a parameter", async () => {
    const { send, reached } = edgeUnderTest(database.db);
    await send("/api/servers/probe", { method: "POST", body: "{}", headers: json, token: all.token });
    expect(reached[0]?.request.url).toBe("http://slipway.internal/api/servers/probe");
  });
});

describe("the rate", () => {
  test("is counted by token, exactly, and told in headers", async () => {
    const edge = edgeUnderTest(database.db, { apiLimitPerMinute: 3 });
    const first = await edge.send("/api/projects", { token: all.token });
    expect(first.headers.get("ratelimit-limit")).toBe("3");
    expect(first.headers.get("ratelimit-remaining")).toBe("2");
    await edge.send("/api/projects", { token: all.token });
    expect((await edge.send("/api/projects", { token: all.token })).status).toBe(200);
    await edge.clock.advance(20_000);
    const refused = await edge.send("/api/projects", { token: all.token });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("40");
    expect(refused.headers.get("ratelimit-remaining")).toBe("0");
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    const other = await seedToken(database.db, owner);
    expect((await edge.send("/api/projects", { token: other.token })).status).toBe(200);
    await edge.clock.advance(40_000);
    expect((await edge.send("/api/projects", { token: all.token })).status).toBe(200);
  });
});

describe("the size of a JSON body", () => {
  const post = (send: ReturnType<typeof edgeUnderTest>["send"], body: string | ReadableStream) =>
    send("/api/projects", {
      method: "POST",
      body,
      headers: json,
      token: all.token,
      ...(body instanceof ReadableStream ? ({ duplex: "half" } as object) : {}),
    });
  const streamed = (size: number) =>
    new ReadableStream({
      start(controller) {
        for (let rest = size; rest > 0; rest -= 65_536) {
          controller.enqueue(new Uint8Array(Math.min(rest, 65_536)));
        }
        controller.close();
      },
    });

  test("may be exactly at the cap, and not one byte more, in both framings", async () => {
    const { send } = edgeUnderTest(database.db);
    const most = limits.jsonBodyBytes;
    expect((await post(send, "x".repeat(most))).status).toBe(200);
    expect((await post(send, "x".repeat(most + 1))).status).toBe(413);
    expect((await post(send, streamed(most))).status).toBe(200);
    expect((await post(send, streamed(most + 1))).status).toBe(413);
  });
});
