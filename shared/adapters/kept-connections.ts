/**
 * Requests between parts of the platform on Node, over connections that are kept: a small `fetch` on node:http for
 * bodies that are in memory. An answer of JSON comes whole, any other as a stream. Rejected: Node's own `fetch`, which
 * takes half as much time again for each request, and more libraries.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { Readable } from "node:stream";

export interface HeldRequest {
  method: string;
  headers: Headers;
  body: Uint8Array | null;
  signal: AbortSignal;
}

export interface KeptConnections {
  /** Rejects when there is no whole head of an answer; no redirect is followed. */
  send(url: URL, sent: HeldRequest): Promise<Response>;
  /** Ends connections that are idle. */
  close(): void;
}

/** Well below what the other side keeps (65 s), so that none is taken that is just being closed. */
const idleMs = 30_000;

export function keepConnections(): KeptConnections {
  const options = { keepAlive: true, timeout: idleMs };
  const agents = { plain: new Agent(options), tls: new TlsAgent(options) };
  return {
    send: (url, sent) => {
      const isTls = url.protocol === "https:";
      const init = {
        method: sent.method,
        headers: headersTo(sent),
        agent: isTls ? agents.tls : agents.plain,
      };
      return answerTo(isTls ? tlsRequest(url, init) : plainRequest(url, init), sent);
    },
    close() {
      agents.plain.destroy();
      agents.tls.destroy();
    },
  };
}

async function answerTo(request: ClientRequest, sent: HeldRequest): Promise<Response> {
  const answer = await headOf(request, sent);
  try {
    const init = { status: answer.statusCode ?? 502, headers: headersFrom(answer) };
    if (isWhole(answer)) return new Response(await readWhole(answer), init);
    if (!hasNone(answer)) return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, init);
    answer.resume();
    return new Response(null, init);
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

/** The signal ends the request, and the answer for as long as it comes. */
function headOf(request: ClientRequest, { body, signal }: HeldRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const stop = () => request.destroy(new Error("nobody waits for the answer", { cause: signal.reason }));
    signal.addEventListener("abort", stop, { once: true });
    request.once("close", () => signal.removeEventListener("abort", stop));
    request.on("error", reject);
    request.once("response", resolve);
    if (signal.aborted) stop();
    else request.end(body ?? undefined);
  });
}

function headersTo({ headers, body }: HeldRequest): Record<string, string> {
  const plain = Object.fromEntries(headers);
  return body === null ? plain : { ...plain, "content-length": String(body.length) };
}

/** One by one, since some may come twice (Set-Cookie). */
function headersFrom({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  return headers;
}

function isWhole(answer: IncomingMessage): boolean {
  return !hasNone(answer) && answer.headers["content-type"]?.startsWith("application/json") === true;
}

/** A `Response` takes no body with these. */
function hasNone({ statusCode = 0 }: IncomingMessage): boolean {
  return [204, 205, 304].includes(statusCode);
}

/** Rejects where the connection ends before the answer does. */
function readWhole(answer: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.once("end", () => resolve(Buffer.concat(chunks)));
    answer.once("error", reject);
  });
}
