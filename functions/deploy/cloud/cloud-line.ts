/**
 * Requests to the linked cloud with the token of the link, and what its refusals mean here. Only what the other side has
 * a use for goes along: no identity, no cookie, no header of the connection. What is wrong with the link itself is 502
 * with a code of its own, so that nobody takes it for a mistake in the request.
 */
import { eq } from "drizzle-orm";
import type { Sealer } from "../../../shared/crypto/seal.ts";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { cloudTokenPlace } from "../../../shared/domain/sealed-place.ts";
import {
  OutgoingFailure,
  type OutgoingStreams,
  type StreamedAnswer,
} from "../../../shared/ports/outgoing.ts";
import { cloudNotLinked } from "../uploads/session.ts";

export interface CloudParts {
  db: Queryable;
  /** Holds the ring `cloud`. */
  sealer: Sealer;
  streams: OutgoingStreams;
}

export interface CloudRequest {
  method: string;
  /** With its query. */
  path: string;
  headers?: Record<string, string>;
  json?: unknown;
  signal: AbortSignal;
}

export interface CloudLine {
  send(request: CloudRequest): Promise<StreamedAnswer>;
}

/** Of this organization and no other; throws `cloud_not_linked`. */
export async function openCloudLine(parts: CloudParts, organizationId: string): Promise<CloudLine> {
  const [link] = await parts.db
    .select()
    .from(cloudLinks)
    .where(eq(cloudLinks.organizationId, organizationId));
  if (link === undefined) throw cloudNotLinked();
  const token = await parts.sealer.open("cloud", cloudTokenPlace(link), link.sealedToken);
  return {
    send: async ({ method, path, headers = {}, json, signal }) => {
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const type = json === undefined ? {} : { "content-type": "application/json" };
      const answer = await parts.streams
        .open({
          ...{ method, url: `${link.url}${path}`, signal, ...body },
          headers: { ...headers, ...type, authorization: `Bearer ${token}`, "user-agent": "slipway" },
          deadlineMs: limits.cloudAnswerMs,
          idleMs: limits.streamStalledMs,
        })
        .catch((cause: unknown) => {
          if (cause instanceof OutgoingFailure) throw unreachable(cause.message.replace(/\.$/, ""), cause);
          if (signal.aborted) throw unreachable("the request was ended", cause);
          throw cause;
        });
      await refuseBroken(answer);
      return answer;
    },
  };
}

/** What is the link's or the cloud's fault, and not the caller's. */
async function refuseBroken(answer: StreamedAnswer): Promise<void> {
  const { status } = answer;
  if (status === 401) {
    await answer.body.cancel();
    throw new Refusal(
      "upstream",
      "cloud_token_refused",
      "The cloud does not take the token of the link any more; an owner must link again with a new one (PUT /api/cloud-link).",
    );
  }
  if (status === 403) {
    const { error } = await readJson(answer);
    const said = typeof error === "string" ? `: ${error.slice(0, 300)}` : ".";
    throw new Refusal("upstream", "cloud_not_allowed", `The cloud does not allow this to the link${said}`);
  }
  if (status >= 500 || status < 200 || (status >= 300 && status < 400)) {
    await answer.body.cancel();
    throw unreachable(`it answered with status ${status}`);
  }
}

/** A JSON object, bounded in size and time; anything else is the answer of something that is no Slipway. */
export async function readJson(
  answer: StreamedAnswer,
  deadlineMs: number = limits.cloudAnswerMs,
): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    const signal = AbortSignal.timeout(deadlineMs);
    for await (const chunk of answer.body.pipeThrough(new TransformStream(), { signal })) {
      bytes += chunk.length;
      if (bytes > limits.cloudJsonBytes) throw new Error("too large");
      chunks.push(chunk);
    }
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    throw new Error("no object");
  } catch (cause) {
    throw unreachable("its answer broke off, or is none of a Slipway", cause);
  }
}

export function unreachable(message: string, cause?: unknown): Refusal {
  return new Refusal("upstream", "cloud_unreachable", `The cloud could not be asked: ${message}.`, { cause });
}
