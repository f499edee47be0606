/**
 * Requests to addresses that users gave, on node:http: the guard picks the address, one connection a request, no
 * redirect is followed, the answer is read up to a bound and then cut off, and one deadline covers all of it.
 * Rejected: `fetch`, whose connection resolves the name again, and connections that are kept (an answer could come from
 * an address that was checked for another name).
 */
import { type IncomingMessage, request as plainRequest } from "node:http";
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
        return await firstThatAnswers(url, addresses, { ...request, signal: deadline });
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
async function firstThatAnswers(
  url: URL,
  addresses: readonly string[],
  request: OutgoingRequest & { signal: AbortSignal },
): Promise<OutgoingAnswer> {
  let last: unknown;
  for (const address of addresses) {
    const attempt = { connected: false };
    try {
      return await ask(url, address, request, attempt);
    } catch (error) {
      if (attempt.connected || request.signal.aborted) throw error;
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
    const secure = url.protocol === "https:";
    const sent = (secure ? tlsRequest : plainRequest)(url, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
      agent: false,
      signal,
      // The host stays the name for TLS and the Host header; the connection goes to the address.
      lookup: (_host, options, answer) => {
        const family = address.includes(":") ? 6 : 4;
        if (options.all === true) answer(null, [{ address, family }]);
        else answer(null, address, family);
      },
    });
    sent.once("socket", (socket) => socket.once("connect", () => (attempt.connected = true)));
    sent.once("error", reject);
    sent.once("response", (response) => {
      // From here on there is an answer; what breaks later only makes it shorter.
      sent.off("error", reject).on("error", () => response.destroy());
      readSome(response, answerBytes).then((text) => resolve(answered(response, text)), reject);
    });
    sent.end(body);
  });
}

function answered(response: IncomingMessage, text: string): OutgoingAnswer {
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), text };
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

function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** What the system says about a connection, in a word. */
function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : "";
}
