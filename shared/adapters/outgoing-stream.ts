/**
 * Requests whose answers are passed on as they come: with the same guard and the same pinned connection as
 * `outgoing-http.ts`, but unread. The deadline holds until the head is there, a bound on silence from then on.
 */
import { Readable } from "node:stream";
import {
  OutgoingFailure,
  type OutgoingStreams,
  type StreamedAnswer,
  type StreamedRequest,
} from "../ports/outgoing.ts";
import { firstThatAnswers, headersOf, reasonOf, requestTo, within } from "./outgoing-http.ts";
import type { TargetGuard } from "./target-guard.ts";

export function createOutgoingStreams(guard: TargetGuard): OutgoingStreams {
  return {
    async open(request) {
      const url = new URL(request.url);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), request.deadlineMs);
      const signal = AbortSignal.any([request.signal, late.signal]);
      try {
        signal.throwIfAborted();
        const addresses = await within(guard.resolve(url.hostname), signal);
        return await firstThatAnswers(addresses, signal, (address, attempt) =>
          ask(url, address, { ...request, signal }, attempt),
        );
      } catch (cause) {
        request.signal.throwIfAborted();
        if (cause instanceof OutgoingFailure) throw cause;
        throw late.signal.aborted
          ? new OutgoingFailure(
              "timeout",
              `${url.host} did not answer within ${request.deadlineMs / 1000} s.`,
              {
                cause,
              },
            )
          : new OutgoingFailure("unreachable", `${url.host} could not be reached${reasonOf(cause)}.`, {
              cause,
            });
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function ask(
  url: URL,
  address: string,
  { method, headers, body, signal, idleMs }: StreamedRequest,
  attempt: { connected: boolean },
): Promise<StreamedAnswer> {
  return new Promise((resolve, reject) => {
    const sent = requestTo(url, address, { method, headers, body, signal }, attempt);
    sent.once("error", reject);
    sent.once("response", (response) => {
      sent.off("error", reject).on("error", (error) => response.destroy(error));
      response.setTimeout(idleMs, () => response.destroy(new Error("the answer brings nothing any more")));
      resolve({
        status: response.statusCode ?? 0,
        headers: headersOf(response),
        body: Readable.toWeb(response) as ReadableStream<Uint8Array>,
      });
    });
    sent.end(body);
  });
}
