/**
 * The edge in workerd, with the face of `edgeUnderTest`: requests go over the wire to the real worker, which asks the
 * test's database over HTTP and reaches functions over HTTP, where the test's forwarder stands behind the check of the
 * signed identity. What cannot reach into another process (a clock, a store) is here only for tests of the other host.
 */
import { createServer, type IncomingMessage, type Server, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { sql } from "drizzle-orm";
import type { EdgeOptions } from "../../../edge/edge-options.ts";
import { createIdentityVerifier } from "../../../shared/crypto/identity-token.ts";
import type { Database } from "../../../shared/db/database.ts";
import { rateWindows } from "../../../shared/db/request-tables.ts";
import { identityHeader, verifyIdentityHeader } from "../../../shared/http/identity-header.ts";
import type { ModuleName } from "../../../shared/ports/forwarder.ts";
import { makeIdentityKey } from "../../keys.ts";

export interface WorkerdEdge {
  /** Answers what `app.fetch` answers on Node. */
  fetch(request: Request, env?: { remoteAddress?: string }): Promise<Response>;
  /** Where the worker itself is reached, and what each request needs to reach this edge. */
  direct(): Promise<{ url: string; headers: Record<string, string> }>;
}

const identityKey = makeIdentityKey();
/** Of the connection between worker and function, and not of the request that is forwarded. */
const transport = new Set([
  ...["host", "connection", "content-length", "transfer-encoding", "accept-encoding"],
  // Cloudflare's own, on every request of a worker.
  "cf-worker",
  identityHeader,
]);

export function edgeOnWorkerd(
  db: Database,
  options: EdgeOptions,
  keys: { webhook: string; idempotency: string },
  workerd: { url: string; neonEndpoint: string },
): WorkerdEdge {
  let settings: Promise<string> | undefined;
  const direct = async (remoteAddress = "127.0.0.1") => {
    settings ??= makeSettings(db, options, keys, workerd.neonEndpoint);
    const headers = { "x-test-settings": await settings, "cf-connecting-ip": remoteAddress };
    return { url: workerd.url, headers };
  };
  return {
    direct: () => direct(),
    fetch: async (request, { remoteAddress } = {}) => overTheWire(request, await direct(remoteAddress)),
  };
}

/** The database's clock cannot be moved; what it compares with can. */
export async function ageRateWindows(db: Database, ms: number): Promise<void> {
  await db
    .update(rateWindows)
    .set({ endsAt: sql`${rateWindows.endsAt} - make_interval(secs => ${ms / 1000})` });
}

async function makeSettings(
  db: Database,
  options: EdgeOptions,
  keys: { webhook: string; idempotency: string },
  neonEndpoint: string,
): Promise<string> {
  // As on Node, where each edge begins to count anew.
  await db.delete(rateWindows);
  const { rows } = (await db.execute(sql`select current_database() as name`)) as { rows: { name: string }[] };
  const queue = await serveQueue(options.nudge);
  return JSON.stringify({
    SLIPWAY_MODE: options.mode,
    SLIPWAY_BASE_URL: options.baseUrl,
    DATABASE_URL: `postgres://edge:secret@neon.test/${rows[0]?.name}`,
    SLIPWAY_NEON_ENDPOINT: neonEndpoint,
    SLIPWAY_PLATFORM_URL: await serveFunction("platform", options.forwarder),
    SLIPWAY_DEPLOY_URL: await serveFunction("deploy", options.forwarder),
    SLIPWAY_NOTIFY_URL: await serveFunction("notify", options.forwarder),
    SLIPWAY_SEAL_WEBHOOK: JSON.stringify([{ kid: "t", key: keys.webhook }]),
    SLIPWAY_SEAL_IDEMPOTENCY: JSON.stringify([{ kid: "t", key: keys.idempotency }]),
    SLIPWAY_IDENTITY_KEY: JSON.stringify(identityKey),
    GIT_WEBHOOK_SECRET: options.instanceWebhookSecret ?? "",
    SLIPWAY_QUEUE_DEPLOY: `${queue}/000000000000/deploy.fifo`,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    SLIPWAY_API_LIMIT: String(options.apiLimitPerMinute),
    SLIPWAY_LOG_LEVEL: "debug",
  });
}

async function serveFunction(module: ModuleName, forwarder: EdgeOptions["forwarder"]): Promise<string> {
  const verifier = await createIdentityVerifier({ audience: module, keys: [identityKey] });
  const verify = verifyIdentityHeader(verifier);
  return listen(
    createServer(
      getRequestListener(async (request, env) => {
        const identity = await verify(request);
        const { pathname, search } = new URL(request.url);
        const headers = new Headers();
        for (const [name, value] of request.headers) if (!transport.has(name)) headers.append(name, value);
        const { method, body, signal } = request;
        const init = { method, headers, signal, body, ...(body === null ? {} : { duplex: "half" }) };
        const forwarded = new Request(`http://slipway.internal${pathname}${search}`, init as RequestInit);
        try {
          return await forwarder.forward(module, forwarded, identity);
        } catch {
          // A function that is not there: its connection ends without an answer.
          (env as HttpBindings).outgoing.destroy();
          return new Response();
        }
      }),
    ),
  );
}

/** Takes messages as SQS does; the contract of the queue is tested against a real server of its protocol. */
function serveQueue(nudge: EdgeOptions["nudge"]): Promise<string> {
  const take = async (request: Request): Promise<Response> => {
    const sent = (await request.json()) as { MessageBody: string; MessageGroupId: string };
    const { operationId } = JSON.parse(sent.MessageBody) as { operationId: string };
    await nudge({ operationId, projectId: sent.MessageGroupId });
    return Response.json({ MessageId: "1" });
  };
  return listen(
    createServer(
      getRequestListener((request) => take(request).catch(() => new Response("queue down", { status: 400 }))),
    ),
  );
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Nothing waits for it: it ends with the process of its test file.
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Over node:http, which sends what it is told: `fetch` would leave out headers that a hostile client sends. */
async function overTheWire(
  request: Request,
  { url, headers }: { url: string; headers: Record<string, string> },
): Promise<Response> {
  const { pathname, search, host } = new URL(request.url);
  const { port } = new URL(url);
  const body = request.body === null ? null : Readable.fromWeb(request.body as never);
  const length = body === null ? {} : await knownLength(request);
  return new Promise((resolve, reject) => {
    const sending = send(
      {
        host: "127.0.0.1",
        port,
        method: request.method,
        path: pathname + search,
        headers: { ...Object.fromEntries(request.headers), ...headers, ...length, host },
        signal: request.signal,
      },
      (answer) => resolve(toResponse(answer)),
    );
    sending.on("error", reject);
    if (body === null) sending.end();
    else body.pipe(sending);
  });
}

async function knownLength(request: Request): Promise<Record<string, string>> {
  const given = request.headers.get("content-length");
  return given === null ? {} : { "content-length": given };
}

function toResponse(answer: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const { statusCode: status = 0 } = answer;
  const isEmpty = [101, 204, 205, 304].includes(status);
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream), { status, headers });
}
