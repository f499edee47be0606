/** The typed client against a real edge: answers, refusals, and streams that are taken up again after a cut. */
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { type Served, serveEdge } from "../../../edge/node.ts";
import { ApiError, ApiUnreachable, createClient } from "../../../shared/contract/client.ts";
import * as deployments from "../../../shared/contract/deployments.ts";
import { StreamCut } from "../../../shared/contract/event-stream.ts";
import * as projectEnv from "../../../shared/contract/project-env.ts";
import * as projects from "../../../shared/contract/projects.ts";
import * as servers from "../../../shared/contract/servers.ts";
import type { Forwarder } from "../../../shared/ports/forwarder.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { edgeUnderTest, seedToken } from "../../edge/edge-under-test.ts";

let database: TestDatabase;
let token: string;
let served: Served;
let answer: Forwarder["forward"];

beforeAll(async () => {
  database = await openTestDatabase();
  ({ token } = await seedToken(database.db, await seedOrganization(database.db)));
  const forwarder: Forwarder = { forward: (...call) => answer(...call) };
  served = await serveEdge({
    app: edgeUnderTest(database.db, { forwarder }).app,
    host: "127.0.0.1",
    port: 0,
  });
});
afterAll(async () => {
  await served.close();
  await database.close();
});

const client = (changes: Partial<Parameters<typeof createClient>[0]> = {}) =>
  createClient({ baseUrl: served.url, token, ...changes });

describe("a call", () => {
  test("sends path, query and body, and answers what the route promises", async () => {
    const seen: unknown[] = [];
    answer = async (_module, request) => {
      seen.push([request.method, request.url, await request.text()]);
      return Response.json({ data: [], nextCursor: null });
    };
    const list = await client().call(deployments.listDeployments, {
      query: { projectId: "prj_1", limit: 5 },
    });
    expectTypeOf(list.data[0]?.status).toEqualTypeOf<
      | "queued"
      | "building"
      | "deploying"
      | "ready"
      | "failed"
      | "partial_failure"
      | "cancelled"
      | "rejected"
      | "skipped"
      | undefined
    >();
    expect(list).toEqual({ data: [], nextCursor: null });
    await client()
      .call(projectEnv.putEnv, { params: { id: "a b/ü" }, json: { set: { K: "v" } } })
      .catch(() => null);
    await client().call(projects.updateProject, { params: { id: "prj_1" }, json: { name: "x" } });
    expect(seen).toEqual([
      ["GET", "http://slipway.internal/api/deployments?projectId=prj_1&limit=5", ""],
      ["PATCH", "http://slipway.internal/api/projects/prj_1", '{"name":"x"}'],
    ]);
  });

  test("that is refused throws what the platform said", async () => {
    answer = async () => Response.json({ error: "Taken.", code: "name_taken", details: [] }, { status: 409 });
    const refused = client().call(servers.getServer, { params: { id: "srv_1" } });
    await expect(refused).rejects.toThrow(ApiError);
    await expect(refused).rejects.toMatchObject({ status: 409, code: "name_taken", message: "Taken." });
  });

  test("that meets something else on the way still says the status", async () => {
    const proxy = client({ fetch: async () => new Response("<html>Bad gateway</html>", { status: 502 }) });
    await expect(proxy.call(servers.listServers)).rejects.toMatchObject({ status: 502, code: "unknown" });
  });

  test("ends at its deadline, or when its caller says so", async () => {
    answer = () => new Promise(() => undefined);
    await expect(client({ timeoutMs: 50 }).call(servers.listServers)).rejects.toThrow(ApiUnreachable);
    const signal = AbortSignal.abort(new Error("left"));
    await expect(client().call(servers.listServers, { signal })).rejects.toThrow("left");
  });

  test("to nobody says where nobody was", async () => {
    const lost = client({ baseUrl: "http://127.0.0.1:1" }).call(servers.listServers);
    await expect(lost).rejects.toThrow(ApiUnreachable);
    await expect(lost).rejects.toThrow(/127\.0\.0\.1:1/);
    const other = client({ fetch: async () => new Response("<html>Welcome to nginx</html>") });
    await expect(other.call(servers.listServers)).rejects.toThrow(ApiUnreachable);
  });
});

function frames(from: number, to: number, last?: string): string {
  let text = ": open\n\n";
  for (let seq = from; seq <= to; seq++) text += `id: ${seq}\nevent: log\ndata: {"seq":${seq}}\n\n`;
  return last === undefined ? text : `${text}id: ${to + 1}\nevent: ${last}\ndata: {"status":"ready"}\n\n`;
}

const events = (body: BodyInit | null) =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });
type BodyInit = string | ReadableStream<Uint8Array>;

function cutAfter(text: string): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    async pull(controller) {
      pulls += 1;
      if (pulls === 1) return controller.enqueue(new TextEncoder().encode(text));
      // Long enough for the first part to be on its way: a cut connection drops what is not.
      await new Promise((resolve) => setTimeout(resolve, 100));
      controller.error(new Error("cut"));
    },
  });
}

describe("a stream", () => {
  test("is read to its end, and taken up behind the last event after a cut", async () => {
    const asked: (string | null)[] = [];
    answer = async (_module, request) => {
      asked.push(request.headers.get("last-event-id"));
      if (asked.length === 1) return events(cutAfter(frames(1, 3)));
      if (asked.length === 2) return new Response("restarting", { status: 503 });
      return events(frames(4, 5, "complete"));
    };
    const seen: unknown[] = [];
    for await (const event of client().stream(deployments.streamDeployment, { params: { id: "dep_1" } })) {
      seen.push([event.id, event.event]);
    }
    expect(seen).toEqual([
      ["1", "log"],
      ["2", "log"],
      ["3", "log"],
      ["4", "log"],
      ["5", "log"],
      ["6", "complete"],
    ]);
    expect(asked).toEqual([null, "3", "3"]);
  });

  test("of a POST is not begun again by itself", async () => {
    let begun = 0;
    answer = async () => {
      begun += 1;
      return events(cutAfter(frames(1, 1)));
    };
    const read = async () => {
      for await (const _event of client().stream(servers.bootstrapServer, { params: { id: "srv_1" } }));
    };
    await expect(read()).rejects.toThrow(StreamCut);
    expect(begun).toBe(1);
  });

  test("that is refused throws at once", async () => {
    answer = async () => Response.json({ error: "No.", code: "not_found" }, { status: 404 });
    const stream = client().stream(deployments.streamDeployment, { params: { id: "dep_1" } });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 404 });
  });

  test("ends when its reader says so", async () => {
    answer = async () =>
      events(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode(frames(1, 1))) }));
    const leaving = new AbortController();
    const read = async () => {
      const input = { params: { id: "dep_1" }, signal: leaving.signal };
      for await (const _event of client().stream(deployments.streamDeployment, input))
        leaving.abort(new Error("left"));
    };
    await expect(read()).rejects.toThrow("left");
  });
});
