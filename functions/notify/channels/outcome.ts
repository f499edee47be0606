/**
 * What became of one attempt, and what an HTTP status means for it (decisions.md section 6): a receiver that is away is
 * tried again, one that refuses this message is not, and one that says it is gone for good gets nothing any more.
 * Whoever answers a redirect gets nothing either: it could lead anywhere.
 */
import { type OutgoingAnswer, OutgoingFailure } from "../../../shared/ports/outgoing.ts";

export interface Outcome {
  result:
    | "delivered"
    | "retry" // nothing was wrong with the message
    | "refused" // this message will never be taken
    | "gone"; // no message will ever be taken
  /** Stable, snake_case; null when delivered. */
  code: string | null;
  /** For a person; null when delivered. */
  error: string | null;
  /** HTTP or SMTP. */
  status: number | null;
  /** The beginning of what the far side said. */
  response: string | null;
  /** The far side asked for this much time. */
  retryAfterMs?: number;
}

/** What goes to a channel. */
export interface Message {
  /** The same in every attempt. */
  id: string;
  organizationId: string;
  category: string;
  severity: "info" | "warning" | "error";
  title: string;
  message: string;
  /** Absolute. */
  link: string | null;
  resource: { type: string; id: string };
  count: number;
  /** ISO 8601. */
  createdAt: string;
}

/** A channel with its secret opened. */
export interface Target {
  config: { address?: string; url?: string };
  secret: string | null;
}

/** Never throws for what the far side does. */
export type Send = (target: Target, message: Message, nowMs: number) => Promise<Outcome>;

const shownLength = 500;

export function judge({ status, headers, text }: OutgoingAnswer): Outcome {
  const response = shown(text);
  const seen = { status, response };
  if (status >= 200 && status < 300) return { result: "delivered", code: null, error: null, ...seen };
  if (status === 410)
    return no("gone", "receiver_gone", "The receiver answered 410: it is gone for good.", seen);
  if (status === 408 || status === 429 || status >= 500) {
    const asked = Number(headers["retry-after"]);
    const later = Number.isFinite(asked) && asked > 0 ? { retryAfterMs: asked * 1000 } : {};
    return { ...no("retry", "receiver_failed", `The receiver answered ${status}.`, seen), ...later };
  }
  if (status >= 300 && status < 400) {
    return no("refused", "redirected", `The receiver answered ${status}; redirects are not followed.`, seen);
  }
  return no("refused", "receiver_refused", `The receiver answered ${status}.`, seen);
}

/** Why there was no answer. A target that the guard refuses stays refused; everything else may pass. */
export function judgeFailure(error: unknown): Outcome {
  if (!(error instanceof OutgoingFailure)) throw error;
  const result = error.kind === "refused_target" ? "refused" : "retry";
  return no(result, error.kind, error.message, { status: null, response: null });
}

export function no(
  result: Exclude<Outcome["result"], "delivered">,
  code: string,
  error: string,
  seen: Pick<Outcome, "status" | "response">,
): Outcome {
  return { result, code, error, ...seen };
}

/** Text of a stranger, fit for a row and a line. */
export function shown(text: string): string | null {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, shownLength);
  return line === "" ? null : line.toWellFormed();
}
