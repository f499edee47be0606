/** What reaches a function, what comes back, and what the edge answers itself. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../shared/domain/limits.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { edgeUnderTest, seedToken, testOnNode } from "./edge-under-test.ts";

let database: TestDatabase;
let owner: { organizationId: string; userId: string };
let token: string;
let tokenId: string;

beforeAll(async () => {
  database = await openTestDatabase();
  owner = await seedOrganization(database.db);
  ({ token, id: tokenId } = await seedToken(database.db, owner));
});
afterAll(() => database.close());

describe("what goes on to a function", () => {
  test("is the identity, and nothing of the credential or of forged headers", async () => {
    const { send, reached } = edgeUnderTest(database.db);
    await send("/api/projects", {
      method: "POST",
      body: "{}",
      token,
      from: "198.51.100.7",
      headers: {
        "content-type": "application/json",
        cookie: "a=b",
        "x-slipway-identity": "forged",
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-host": "evil",
        forwarded: "for=1.2.3.4",
        "x-request-id": "forged",
        connection: "x-secret",
        "x-secret": "1",
        "proxy-authorization": "Basic x",
        "accept-language": "de",
      },
    });
    const [one] = reached;
    expect([...(one?.request.headers.keys() ?? [])].sort()).toEqual(["accept-language", "content-type"]);
    expect(await one?.request.text()).toBe("{}");
    expect(one?.identity).toMatchObject({
      ...owner,
      credentialId: tokenId,
      sourceIp: "198.51.100.7",
      requestId: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      projectIds: null,
    });
  });

  test("every answer carries the request's id and no content sniffing", async () => {
    const { send, reached } = edgeUnderTest(database.db);
    const answer = await send("/api/projects", { token });
    expect(answer.headers.get("x-request-id")).toBe(reached[0]?.identity?.requestId);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });
});

describe("a function that", () => {
  test("is down is 502", async () => {
    const { send } = edgeUnderTest(database.db, {
      forwarder: { forward: () => Promise.reject(new TypeError("fetch failed: 10.0.0.7:3000")) },
    });
    const answer = await send("/api/projects", { token });
    expect(answer.status).toBe(502);
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ code: "module_unreachable" });
    expect(text).not.toContain("10.0.0.7");
  });

  testOnNode("does not answer in time is 502, and the work behind is told to stop", async () => {
    let signal: AbortSignal | undefined;
    const edge = edgeUnderTest(database.db, {
      forwarder: {
        forward: (_module, request) => {
          signal = request.signal;
          return new Promise(() => undefined);
        },
      },
    });
    const pending = edge.send("/api/projects", { token });
    await expect.poll(() => edge.clock.sleepers()).toBe(1);
    await edge.clock.advance(limits.forwardMs);
    const answer = await pending;
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ code: "module_timeout" });
    expect(signal?.aborted).toBe(true);
  });

  test("streams is passed through as it comes, past the deadline of an answer", async () => {
    let push: ReadableStreamDefaultController<Uint8Array> | undefined;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        push = controller;
      },
    });
    const edge = edgeUnderTest(database.db, {
      forwarder: {
        forward: async () => new Response(stream, { headers: { "content-type": "text/event-stream" } }),
      },
    });
    const answer = await edge.send("/api/deployments/dep_1/stream", { token });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    push?.enqueue(new TextEncoder().encode("id: 1\n"));
    expect((await reader?.read())?.value).toBe("id: 1\n");
    await edge.clock.advance(10 * limits.forwardMs);
    push?.enqueue(new TextEncoder().encode("id: 2\n"));
    expect((await reader?.read())?.value).toBe("id: 2\n");
  });

  // Workerd notices with the next byte that is sent: the test of both ways has a stream that sends.
  testOnNode("is told when the caller leaves", async () => {
    let cancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      cancel() {
        cancelled = true;
      },
    });
    const edge = edgeUnderTest(database.db, { forwarder: { forward: async () => new Response(stream) } });
    const answer = await edge.send("/api/deployments/dep_1/stream", { token });
    await answer.body?.cancel();
    expect(cancelled).toBe(true);
  });
});

describe("the edge's own routes", () => {
  test("health, readiness and version need no credential and say nothing else", async () => {
    const edge = edgeUnderTest(database.db);
    const { send } = edge;
    expect(await (await send("/api/system/health")).json()).toEqual({ data: { status: "ok" } });
    expect(await (await send("/api/system/ready")).json()).toEqual({ data: { status: "ready" } });
    expect(await (await send("/api/system/version")).json()).toEqual({
      data: { version: edge.options.version, mode: "self-hosted" },
    });
    expect((await send("/api/system/health", { method: "HEAD" })).status).toBe(200);
  });

  testOnNode("readiness is 503 while the database does not answer", async () => {
    const edge = edgeUnderTest(database.db);
    edge.options.store.ping = () => Promise.reject(new Error("connect ECONNREFUSED /var/run/secret"));
    const refused = await edge.send("/api/system/ready");
    expect(refused.status).toBe(503);
    expect(await refused.text()).not.toContain("ECONNREFUSED");
    edge.options.store.ping = () => new Promise(() => undefined);
    const pending = edge.send("/api/system/ready");
    await expect.poll(() => edge.clock.sleepers()).toBe(1);
    await edge.clock.advance(limits.readyMs);
    expect((await pending).status).toBe(503);
  });

  test("the pages for people have no scripts and a strict policy", async () => {
    const { send } = edgeUnderTest(database.db);
    for (const path of ["/", "/api/docs"]) {
      const answer = await send(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(await answer.text()).not.toMatch(/<script|https?:\/\/(?!localhost)/);
    }
  });

  testOnNode("an error that nobody expected says no more than its id", async () => {
    const edge = edgeUnderTest(database.db);
    edge.options.store.findCredential = () => Promise.reject(new Error("password authentication failed"));
    const answer = await edge.send("/api/projects", { token });
    expect(answer.status).toBe(500);
    const text = await answer.text();
    expect(text).not.toContain("password");
    expect(text).toContain(answer.headers.get("x-request-id") ?? "none");
    expect(edge.log.lines.some((line) => line.level === "error")).toBe(true);
  });
});
