/** One suite on both ways to a function: in the same process, and over HTTP with a signed identity. */

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forwardHttp, type SentRequest } from "../../edge/router/forward-http.ts";
import { forwardInProcess } from "../../edge/router/forward-in-process.ts";
import { keepConnections } from "../../shared/adapters/kept-connections.ts";
import * as contract from "../../shared/contract/deployments.ts";
import { createIdentitySigner, createIdentityVerifier } from "../../shared/crypto/identity-token.ts";
import { admit } from "../../shared/db/tenancy.ts";
import { identityHeader, refuseUnsigned, verifyIdentityHeader } from "../../shared/http/identity-header.ts";
import { createModuleApp, type ModuleAppOptions } from "../../shared/http/module-app.ts";
import type { Forwarder } from "../../shared/ports/forwarder.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { makeIdentityKey } from "../keys.ts";
import { silentLog } from "../silent-log.ts";
import { edgeUnderTest, onNode, seedToken } from "./edge-under-test.ts";

let database: TestDatabase;
let owner: { organizationId: string; userId: string };
let token: string;

beforeAll(async () => {
  database = await openTestDatabase();
  owner = await seedOrganization(database.db);
  ({ token } = await seedToken(database.db, owner));
});
afterAll(() => database.close());

/** A function with one route that echoes, one that streams until its reader leaves. */
function functionApp(verifyIdentity: ModuleAppOptions["verifyIdentity"]) {
  const left: unknown[] = [];
  const app = createModuleApp({
    module: "deploy",
    verifyIdentity,
    admit: (identity) => admit(database.db, identity),
    log: silentLog,
  });
  app.on("POST", contract.createDeployment.getRoutingPath(), async (c) => {
    const { organizationId, sourceIp } = c.get("principal");
    return c.json({ organizationId, sourceIp, body: await c.req.json(), query: c.req.query("x") ?? null });
  });
  app.on("GET", contract.streamDeployment.getRoutingPath(), (c) => {
    let timer: NodeJS.Timeout | undefined;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        let seq = 0;
        const send = () => controller.enqueue(new TextEncoder().encode(`id: ${++seq}\ndata: {}\n\n`));
        send();
        timer = setInterval(send, 20);
      },
      cancel(reason) {
        clearInterval(timer);
        left.push(reason);
      },
    });
    return c.body(stream, 200, { "content-type": "text/event-stream" });
  });
  return { app, left };
}

async function inProcess() {
  const { app, left } = functionApp(refuseUnsigned);
  return {
    forwarder: forwardInProcess({ platform: app, deploy: app, notify: app }),
    left,
    close: async () => undefined,
  };
}

async function overHttp() {
  const key = makeIdentityKey();
  const verifier = await createIdentityVerifier({ audience: "deploy", keys: [key] });
  const { app, left } = functionApp(verifyIdentityHeader(verifier));
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await new Promise((resolve) => server.once("listening", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signer = await createIdentitySigner(key);
  const sent: SentRequest[] = [];
  const connections = keepConnections();
  const forwarder = forwardHttp({
    origins: { platform: origin, deploy: origin, notify: origin },
    signer,
    send: async (url, each) => {
      sent.push(each);
      return connections.send(url, each);
    },
  });
  const close = async () => {
    connections.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { forwarder, left, close, origin, sent };
}

/** Workerd reaches functions over HTTP alone; there the test's own end of that way hands on to the function. */
const ways = [
  ["in the same process", inProcess],
  ["over HTTP", onNode ? overHttp : inProcess],
] as const;

describe.each(ways.slice(onNode ? 0 : 1))("a function reached %s", (_way, open) => {
  let forwarder: Forwarder;
  let left: unknown[];
  let closeFunction: () => Promise<void>;
  let served: Awaited<ReturnType<ReturnType<typeof edgeUnderTest>["open"]>>;

  beforeAll(async () => {
    ({ forwarder, left, close: closeFunction } = await open());
    served = await edgeUnderTest(database.db, { forwarder }).open();
  });
  afterAll(async () => {
    await served.close();
    await closeFunction();
  });

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${served.url}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...served.headers,
        ...init.headers,
      },
    });

  test("gets the caller, the body and the query as they were sent", async () => {
    const body = { text: "ü\u{1f511}", list: [1, null] };
    const answer = await call("/api/deployments?x=%C3%BC%2F", { method: "POST", body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      organizationId: owner.organizationId,
      sourceIp: "127.0.0.1",
      body,
      query: "ü/",
    });
  });

  test("gets a body that came in pieces", async () => {
    const pieces = new ReadableStream({
      start(controller) {
        for (const piece of ['{"a":', "1}"]) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    const init = { method: "POST", body: pieces, duplex: "half" } as RequestInit;
    expect(await (await call("/api/deployments", init)).json()).toMatchObject({ body: { a: 1 } });
  });

  test("answers refusals in its own words", async () => {
    const answer = await call("/api/deployments", { method: "POST", body: "{" });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ success: false, code: "malformed_json" });
  });

  test("streams as it goes, and hears when the reader leaves", async () => {
    const leaving = new AbortController();
    const answer = await call("/api/deployments/dep_1/stream", { signal: leaving.signal });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain("id: 1");
    const before = left.length;
    leaving.abort();
    await reader?.read().catch(() => undefined);
    await expect.poll(() => left.length, { timeout: 5_000 }).toBe(before + 1);
  });
});

describe("a function on the network", () => {
  test("refuses a request that is unsigned, forged or shown twice", async () => {
    const { forwarder, close, origin, sent } = await overHttp();
    const { send } = edgeUnderTest(database.db, { forwarder });
    const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    expect((await send("/api/deployments", { ...init, token })).status).toBe(200);
    const signed = sent[0]?.headers.get(identityHeader) ?? "";
    expect(signed).not.toBe("");
    const direct = (headers: Record<string, string>, body = "{}") =>
      fetch(`${origin}/api/deployments`, { ...init, body, headers: { ...init.headers, ...headers } });
    expect((await direct({})).status).toBe(401);
    expect((await direct({ authorization: `Bearer ${token}` })).status).toBe(401);
    expect((await direct({ [identityHeader]: signed })).status).toBe(401);
    expect((await direct({ [identityHeader]: `${signed.slice(0, -2)}AA` })).status).toBe(401);
    await close();
  });

  test("that is down is 502", async () => {
    const { forwarder, close } = await overHttp();
    await close();
    const { send } = edgeUnderTest(database.db, { forwarder });
    const answer = await send("/api/deployments", { token });
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ code: "module_unreachable" });
  });
});
