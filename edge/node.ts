/**
 * The edge on Node: a server with bounds on everything that a slow or hostile peer could hold open, and an end that
 * comes. A request must be in within its time; answers may stream for hours.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { takesStream } from "../shared/contract/streamed-routes.ts";
import { limits } from "../shared/domain/limits.ts";
import type { EdgeApp } from "./app.ts";

export interface ServeOptions {
  app: Pick<EdgeApp, "fetch">;
  host: string;
  /** 0: any free one. */
  port: number;
  /** Most time that requests under way get at the end; streams are ended at once. Default 10 s. */
  closeMs?: number;
  /** How long a body may take to come; uploads have longer. Default 2 min. */
  bodyMs?: number;
}

export interface Served {
  /** Where it listens, without a slash at the end. */
  url: string;
  /** Streams that are open now. For metrics. */
  streams(): number;
  close(): Promise<void>;
}

const headersMs = 15_000;
/** A body of 5 MiB over a line of 350 kbit/s. */
const requestMs = 120_000;
/** The server's own bound has to let the largest bodies in; `endLate` holds all others to theirs. */
const longestRequestMs = limits.uploadMs + 60_000;
const idleMs = 65_000;
const defaultCloseMs = 10_000;

export async function serveEdge({
  app,
  host,
  port,
  closeMs = defaultCloseMs,
  bodyMs = requestMs,
}: ServeOptions): Promise<Served> {
  const streams = new Set<() => void>();
  const listener = getRequestListener((request, env) => {
    const { incoming, outgoing } = env as HttpBindings;
    const { remoteAddress } = incoming.socket;
    const cut = () => void outgoing.destroy();
    outgoing.once("close", () => streams.delete(cut));
    endLate(incoming, cut, bodyMs);
    const answer = app.fetch(request, { cut, ...(remoteAddress === undefined ? {} : { remoteAddress }) });
    return Promise.resolve(answer).then((response) => {
      if (isStream(response)) streams.add(cut);
      return response;
    });
  });
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: longestRequestMs,
      keepAliveTimeout: idleMs,
      maxHeaderSize: 16_384,
    },
    listener,
  );
  await listen(server, host, port);
  return {
    url: urlOf(server.address() as AddressInfo),
    streams: () => streams.size,
    close: () => close(server, streams, closeMs),
  };
}

/** A caller who sends slowly on purpose holds a connection no longer than its body may take. */
function endLate(incoming: HttpBindings["incoming"], cut: () => void, bodyMs: number): void {
  const { method = "GET", url = "/" } = incoming;
  if (method === "GET" || method === "HEAD" || takesStream(method, url.split("?", 1)[0] ?? "")) return;
  const late = setTimeout(() => {
    if (!incoming.complete) cut();
  }, bodyMs);
  incoming.once("close", () => clearTimeout(late));
}

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function urlOf({ address, family, port }: AddressInfo): string {
  return family === "IPv6" ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}

/** No new connections; requests under way may finish; streams end now, since they resume by themselves elsewhere. */
function close(server: Server, streams: ReadonlySet<() => void>, closeMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => server.closeAllConnections(), closeMs);
    server.close((error) => {
      clearTimeout(late);
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeIdleConnections();
    for (const end of streams) end();
  });
}
