/**
 * Requests to addresses that users gave, on node:http: the guard picks the address, one connection a request, no
 * redirect is followed, the answer is read up to a bound and then cut off, and one deadline covers all of it.
 * Rejected: `fetch`, whose connection resolves the name again, and connections that are kept (an answer could come from
 * an address that was checked for another name).
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import {
  type Outgoing,
  type OutgoingAnswer,
  OutgoingFailure,
  type OutgoingRequest,
} from "../ports/outgoing.ts";
import type { TargetGuard } from "./target-guard.ts";

/** Of an answer: what a person wants to see of it. */
const shownBytes = 16_384;

export function createOutgoing(guard: TargetGuard): Outgoing {
  return {
    async send(request) {
      const deadline = AbortSignal.timeout(request.deadlineMs);
      const url = new URL(request.url);
      try {
        const addresses = await within(guard.resolve(url.hostname), deadline);
        return await firstThatAnswers(addresses, deadline, (address, attempt) =>
          ask(url, address, { ...request, signal: deadline }, attempt),
        );
      } catch (cause) {
        if (deadline.aborted) {
          throw new OutgoingFailure(
            "timeout",
            `${url.host} did not answer within ${request.deadlineMs / 1000} s.`,
            {
              cause,
            },
          );
        }
        if (cause instanceof OutgoingFailure) throw cause;
        throw new OutgoingFailure("unreachable", `${url.host} could not be reached${reasonOf(cause)}.`, {
          cause,
        });
      }
    },
  };
}

/** The next address only where there was no connection at all: nothing is sent twice. */
export async function firstThatAnswers<T>(
  addresses: readonly string[],
  signal: AbortSignal,
  ask: (address: string, attempt: { connected: boolean }) => Promise<T>,
): Promise<T> {
  let last: unknown;
  for (const address of addresses) {
    const attempt = { connected: false };
    try {
      return await ask(address, attempt);
    } catch (error) {
      if (attempt.connected || signal.aborted) throw error;
      last = error;
    }
  }
  throw last;
}

function ask(
  url: URL,
  address: string,
  { method, headers, body, signal, answerBytes = shownBytes }: OutgoingRequest & { signal: AbortSignal },
  attempt: { connected: boolean },
): Promise<OutgoingAnswer> {
  return new Promise((resolve, reject) => {
    const sent = requestTo(url, address, { method, headers, body, signal }, attempt);
    sent.once("error", reject);
    sent.once("response", (response) => {
      // From here on there is an answer; what breaks later only makes it shorter.
      sent.off("error", reject).on("error", () => response.destroy());
      readSome(response, answerBytes).then((text) => resolve(answered(response, text)), reject);
    });
    sent.end(body);
  });
}

/** The host stays the name for TLS and the Host header; the connection goes to the address. */
export function requestTo(
  url: URL,
  address: string,
  sent: {
    method: string;
    headers: Record<string, string>;
    body: string | Uint8Array | undefined;
    signal: AbortSignal;
  },
  attempt: { connected: boolean },
): ClientRequest {
  const { method, headers, body, signal } = sent;
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const request = (url.protocol === "https:" ? tlsRequest : plainRequest)(url, {
    ...{ method, signal, agent: false, headers: { ...headers, ...length } },
    lookup: (_host, options, answer) => {
      const family = address.includes(":") ? 6 : 4;
      if (options.all === true) answer(null, [{ address, family }]);
      else answer(null, address, family);
    },
  });
  request.once("socket", (socket) => socket.once("connect", () => (attempt.connected = true)));
  return request;
}

function answered(response: IncomingMessage, text: string): OutgoingAnswer {
  return { status: response.statusCode ?? 0, headers: headersOf(response), text };
}

export function headersOf(response: IncomingMessage): Record<string, string> {
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  return Object.fromEntries(headers);
}

/** Up to the bound. Once there is a status, an answer that stalls or breaks is an answer all the same. */
function readSome(response: IncomingMessage, mostBytes: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = () => {
      response.destroy();
      resolve(new TextDecoder().decode(Buffer.concat(chunks).subarray(0, mostBytes)));
    };
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= mostBytes) finish();
    });
    response.once("end", finish);
    response.once("close", finish);
    response.once("error", finish);
  });
}

export function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** What the system says about a connection, in a word. */
export function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : "";
}
