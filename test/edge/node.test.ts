/** The edge as a real server: both framings of a body at the cap, the peer's address, and an end that comes. */
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, serveEdge } from "../../edge/node.ts";
import { limits } from "../../shared/domain/limits.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { edgeUnderTest, seedToken } from "./edge-under-test.ts";

let database: TestDatabase;
let token: string;

beforeAll(async () => {
  database = await openTestDatabase();
  ({ token } = await seedToken(database.db, await seedOrganization(database.db)));
});
afterAll(() => database.close());

async function open(overrides: Parameters<typeof edgeUnderTest>[1] = {}) {
  const edge = edgeUnderTest(database.db, overrides);
  return { ...edge, served: await serveEdge({ app: edge.app, host: "127.0.0.1", port: 0, closeMs: 500 }) };
}

/** Posts `size` bytes; with `chunked`, without a content-length. Answers the status, also of an early refusal. */
function post(served: Served, path: string, size: number, chunked: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = chunked ? {} : { "content-length": String(size) };
    const sending = request(`${served.url}${path}`, { method: "POST", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sending.on("error", reject);
    const piece = Buffer.alloc(65_536, " ");
    for (let rest = size; rest > 0; rest -= piece.length)
      sending.write(piece.subarray(0, Math.min(rest, piece.length)));
    sending.end();
  });
}

describe("a delivery over the wire", () => {
  test.each([false, true])(
    "of exactly 5 MiB is read, and of one byte more is 413 (chunked: %s)",
    async (chunked) => {
      const { served } = await open();
      // 401: it was read whole, and nobody had signed it.
      expect(await post(served, "/api/webhooks/git_host", limits.webhookBodyBytes, chunked)).toBe(401);
      expect(await post(served, "/api/webhooks/git_host", limits.webhookBodyBytes + 1, chunked)).toBe(413);
      expect(
        await post(served, "/api/webhooks/git_host", 4 * limits.webhookBodyBytes, chunked).catch(() => 413),
      ).toBe(413);
      await served.close();
    },
  );

  test("that comes slowly or never ends holds its connection no longer than its time", async () => {
    const edge = edgeUnderTest(database.db);
    const served = await serveEdge({ app: edge.app, host: "127.0.0.1", port: 0, closeMs: 500, bodyMs: 300 });
    const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST /api/webhooks/git_host HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const dripping = setInterval(() => socket.write("1\r\n{\r\n"), 50);
    // A reset is an end as well; `once` would reject with it.
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(dripping);
    expect(edge.log.lines.filter(({ level }) => level === "error")).toEqual([]);
    await served.close();
  });

  test("counts by the address of the peer", async () => {
    const { served, counters } = await open();
    await post(served, "/api/webhooks/git_host", 2, false);
    expect(counters.list()).toMatchObject([{ source: "127.0.0.1", status: 401 }]);
    await served.close();
  });
});

describe("raw request lines", () => {
  test.each([
    "GET //api/projects HTTP/1.1",
    "GET /api/../api//projects HTTP/1.1",
    "GET /api/%70rojects HTTP/1.1",
    "GET /api/projects/ HTTP/1.1",
    "GET /API/projects HTTP/1.1",
  ])("%s reaches nothing", async (line) => {
    const { served, reached } = await open();
    const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
    socket.end(`${line}\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
    expect(reached).toEqual([]);
    await served.close();
  });
});

function breakingOff(contentType: string) {
  let pulls = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    pulls += 1;
    if (pulls === 1) controller.enqueue(new TextEncoder().encode('{"data":'));
    else controller.error(new Error("secret path /var/lib"));
  };
  const answer = () =>
    new Response(new ReadableStream({ pull }), { headers: { "content-type": contentType } });
  return open({ forwarder: { forward: async () => answer() } });
}

test("JSON that breaks off behind the edge is 502, and says nothing of why", async () => {
  const { served } = await breakingOff("application/json");
  const answer = await fetch(`${served.url}/api/projects`, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(502);
  expect(await answer.text()).not.toContain("secret");
  await served.close();
});

test("another answer that breaks off behind the edge is cut, and says nothing of why", async () => {
  const { served } = await breakingOff("text/plain");
  const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
  socket.write(`GET /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).not.toContain("secret");
  expect(text).not.toMatch(/0\r\n\r\n$/);
  await served.close();
});

describe("the end", () => {
  test("ends open streams and lets requests under way finish", async () => {
    let finish: (answer: Response) => void = () => undefined;
    const { served } = await open({
      forwarder: {
        forward: async (module) =>
          module === "deploy"
            ? new Response(
                new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(8)) }),
                {
                  headers: { "content-type": "text/event-stream" },
                },
              )
            : new Promise<Response>((resolve) => {
                finish = resolve;
              }),
      },
    });
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${served.url}/api/deployments/dep_1/stream`, { headers });
    const reader = stream.body?.getReader();
    await reader?.read();
    const pending = fetch(`${served.url}/api/projects`, { headers });
    await expect.poll(() => finish.length).toBe(1);
    const closed = served.close();
    await expect(reader?.read()).rejects.toThrow();
    finish(Response.json({ data: 1 }));
    expect((await pending).status).toBe(200);
    await closed;
    await expect(fetch(`${served.url}/`)).rejects.toThrow();
  });

  test("does not wait for ever for a request that does not finish", async () => {
    const { served } = await open({ forwarder: { forward: () => new Promise(() => undefined) } });
    const headers = { authorization: `Bearer ${token}` };
    const pending = fetch(`${served.url}/api/projects`, { headers }).catch(() => "cut");
    const idle = connect(Number(new URL(served.url).port), "127.0.0.1");
    const cut = once(idle, "close").catch((error: unknown) => error);
    await once(idle, "connect");
    await served.close();
    expect(await pending).toBe("cut");
    await cut;
  });
});
