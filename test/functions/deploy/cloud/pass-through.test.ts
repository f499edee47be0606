/** Answers of the cloud on their way through: who may not read on is cut off, and what breaks off does not look whole. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { readJson } from "../../../../functions/deploy/cloud/cloud-line.ts";
import { headersToReturn, passThrough } from "../../../../functions/deploy/cloud/pass-through.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { OutgoingFailure, type StreamedAnswer } from "../../../../shared/ports/outgoing.ts";
import { manualClock } from "../../../manual-clock.ts";
import { testStreams } from "../../../outgoing.ts";

let stop: () => Promise<void> = async () => undefined;
afterEach(() => stop());

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const open = (url: string, signal = new AbortController().signal, bounds = {}): Promise<StreamedAnswer> =>
  testStreams().open({
    ...{ method: "GET", url, headers: {}, signal, deadlineMs: 5_000, idleMs: 5_000 },
    ...bounds,
  });

describe("a stream that is passed through", () => {
  it("ends, here and there, once its reader may not read on", async () => {
    let left = false;
    const url = await serve((response) => {
      response.once("close", () => (left = true));
      response.writeHead(200, { "content-type": "text/event-stream" }).write("event: log\n\n");
    });
    const clock = manualClock();
    const over = new AbortController();
    const answers = [true, false];
    const mayStillRead = async () => answers.shift() ?? false;
    const reader = passThrough(await open(url, over.signal), { clock, over, mayStillRead })
      .body?.pipeThrough(new TextDecoderStream())
      .getReader();
    expect((await reader?.read())?.value).toBe("event: log\n\n");
    for (let asked = 0; asked < 2; asked++) await clock.advance(limits.streamRecheckMs);
    expect((await reader?.read())?.done).toBe(true);
    await expect.poll(() => left).toBe(true);
  });
});

describe("an answer of the cloud", () => {
  it("that breaks off is an error, where it is no stream", async () => {
    const url = await serve((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write("{");
      setImmediate(() => response.destroy());
    });
    const passed = passThrough(await open(url), {
      ...{ clock: manualClock(), over: new AbortController(), mayStillRead: async () => true },
    });
    await expect(passed.text()).rejects.toThrow();
  });

  it.each([
    ["a page, which a browser would take for one of ours", 200, { "content-type": "text/html" }],
    ["of a type nobody knows", 200, {}],
    ["empty", 204, { "content-type": "application/json" }],
  ])("that is %s is none of a Slipway", async (_what, status, headers: Record<string, string>) => {
    const url = await serve((response) => response.writeHead(status, headers).end());
    const over = new AbortController();
    const answer = await open(url);
    const pass = () => passThrough(answer, { clock: manualClock(), over, mayStillRead: async () => true });
    expect(pass).toThrow(expect.objectContaining({ code: "cloud_unreachable" }));
    expect(over.signal.aborted).toBe(true);
  });

  it("brings no header along that is not of its kind", async () => {
    const given = { "content-type": "application/json; x=y", "cache-control": "public", "set-cookie": "a=b" };
    const url = await serve((response) => response.writeHead(200, given).end("{}"));
    expect(headersToReturn(await open(url))).toEqual({
      ...{ "content-type": "application/json", "cache-control": "no-store" },
    });
  });

  it("that is to be read and trickles is given up", async () => {
    const url = await serve((response) => response.writeHead(200).write("{"));
    await expect(readJson(await open(url), 50)).rejects.toMatchObject({ code: "cloud_unreachable" });
  });

  it.each([
    ["that does not begin is given up", () => undefined, { deadlineMs: 50 }],
    ["whose connection ends is given up", (response: ServerResponse) => response.destroy(), {}],
  ])("%s", async (_what, answer, bounds) => {
    const url = await serve(answer);
    await expect(open(url, undefined, bounds)).rejects.toBeInstanceOf(OutgoingFailure);
  });

  it("that brings nothing any more is cut off", async () => {
    const url = await serve((response) => response.writeHead(200).write("x"));
    const { body } = await open(url, undefined, { idleMs: 50 });
    await expect(new Response(body).text()).rejects.toThrow();
  });
});
