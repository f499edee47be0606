/** Requests between parts over connections that are kept: what goes out, what comes back, and every way to break off. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type HeldRequest, keepConnections } from "../../../shared/adapters/kept-connections.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

async function serving(listener: RequestListener) {
  const server: Server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const connections = keepConnections();
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  undo.push(stop, connections.close);
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/path?q=1`);
  const send = (sent: Partial<HeldRequest> = {}) =>
    connections.send(url, {
      ...{ method: "GET", headers: new Headers(), body: null, signal: new AbortController().signal },
      ...sent,
    });
  return { send, stop, server };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

const json = { "content-type": "application/json" };

describe("a request", () => {
  test("arrives as it was given, with its length and nothing of ours", async () => {
    const arrived: unknown[] = [];
    const { send } = await serving(async (request, answer) => {
      arrived.push([request.method, request.url, request.headers, await textOf(request)]);
      answer.end();
    });
    const body = new TextEncoder().encode("ü");
    await send({ method: "POST", headers: new Headers({ "X-One": "1" }), body });
    await send();
    const host = expect.stringContaining("127.0.0.1:");
    const connection = "keep-alive";
    expect(arrived).toEqual([
      ["POST", "/path?q=1", { host, connection, "x-one": "1", "content-length": "2" }, "ü"],
      ["GET", "/path?q=1", { host, connection }, ""],
    ]);
  });

  test("takes the connection of the one before, whatever came back on it", async () => {
    let opened = 0;
    let turn = 0;
    const { send, server } = await serving((_request, answer) => {
      turn += 1;
      if (turn === 1) answer.writeHead(204).end();
      else if (turn === 2) answer.writeHead(304).end();
      else answer.writeHead(200, json).end("{}");
    });
    server.on("connection", () => (opened += 1));
    for (let round = 0; round < 4; round++) {
      await (await send()).arrayBuffer();
      // Of an answer without a body nobody reads the end.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([turn, opened]).toEqual([4, 1]);
  });

  test("rejects when nobody listens", async () => {
    const { send, server, stop } = await serving(() => undefined);
    stop();
    if (server.listening) await once(server, "close");
    await expect(send()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("that nobody waits for any more ends at the other side too, before and after it is sent", async () => {
    const leaving = new AbortController();
    let left = 0;
    const { send } = await serving((request) => {
      request.once("close", () => (left += 1));
      leaving.abort();
    });
    await expect(send({ signal: leaving.signal })).rejects.toThrow("nobody waits");
    await expect.poll(() => left).toBe(1);
    await expect(send({ signal: AbortSignal.abort() })).rejects.toThrow("nobody waits");
    expect(left).toBe(1);
  });
});

describe("an answer", () => {
  test("has its status, each of its headers and its body, and no redirect is followed", async () => {
    const { send } = await serving((_request, answer) => {
      answer.writeHead(302, { ...json, location: "/elsewhere", "set-cookie": ["a=1", "b=2"] }).end('{"ü":1}');
    });
    const answer = await send();
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toBe("/elsewhere");
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await answer.json()).toEqual({ ü: 1 });
  });

  test("of JSON that breaks off is none", async () => {
    const { send } = await serving((_request, answer) => {
      answer.writeHead(200, { ...json, "content-length": "100" });
      answer.write('{"half":', () => answer.destroy());
    });
    await expect(send()).rejects.toThrow("aborted");
  });

  test("that no response can carry is none, and its connection ends", async () => {
    let left = 0;
    const { send } = await serving((request, answer) => {
      request.socket.once("close", () => (left += 1));
      answer.writeHead(700);
      answer.write("x");
    });
    await expect(send()).rejects.toThrow(RangeError);
    await expect.poll(() => left).toBe(1);
  });

  test.each([
    ["is cancelled", (_leaving: AbortController, reader: ReadableStreamDefaultReader) => reader.cancel()],
    ["is aborted", (leaving: AbortController) => leaving.abort()],
  ])("comes as it is written, and ends at the other side when it %s", async (_how, leave) => {
    let left = 0;
    const leaving = new AbortController();
    const { send } = await serving((_request, answer) => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      answer.write("id: 1\n\n");
      answer.once("close", () => (left += 1));
    });
    const reader = (await send({ signal: leaving.signal })).body?.getReader();
    if (reader === undefined) throw new Error("no body");
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("id: 1\n\n");
    await leave(leaving, reader);
    await expect.poll(() => left).toBe(1);
  });

  test("that breaks off in the middle does not look like a whole one", async () => {
    const { send } = await serving((_request, answer) => {
      answer.writeHead(200, { "content-type": "application/gzip" });
      answer.write("half", () => answer.destroy());
    });
    await expect((await send()).arrayBuffer()).rejects.toThrow();
  });
});
