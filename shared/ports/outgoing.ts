/**
 * A request of the platform to an address that a user gave. Whoever gives an address could otherwise make the platform
 * talk to what only it can reach (its database, the cloud's metadata, the neighbours): a guarded request therefore
 * connects only to public addresses, to exactly the one that was checked, and follows no redirect.
 */
export interface Outgoing {
  /** An answer of whatever status. Throws `OutgoingFailure` when there is none. */
  send(request: OutgoingRequest): Promise<OutgoingAnswer>;
}

/** The same for answers that are passed on as they come: streams, and what is too large to be held. */
export interface OutgoingStreams {
  /** Resolves with the head of the answer. Throws `OutgoingFailure` when there is none. */
  open(request: StreamedRequest): Promise<StreamedAnswer>;
}

export interface StreamedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Until the head of the answer is there. */
  deadlineMs: number;
  /** An answer that brings nothing for this long is given up. */
  idleMs: number;
  /** Ends the request, or the answer that is under way. */
  signal: AbortSignal;
}

export interface StreamedAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array>;
}

export interface OutgoingRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** http or https. */
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** For all of it: name, connection, answer. */
  deadlineMs: number;
  /** How much of the answer is read; default: what a person wants to see of it. */
  answerBytes?: number;
}

export interface OutgoingAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** The beginning of what came, as text: a bounded part, never all of a large one. */
  text: string;
}

export type OutgoingFailureKind =
  | "refused_target" // the guard: the address is not public
  | "unresolved" // the name has no address
  | "unreachable" // no connection, or it broke
  | "timeout";

/** `message` is fit for a person; of a refused target it names the address. */
export class OutgoingFailure extends Error {
  readonly kind: OutgoingFailureKind;

  constructor(kind: OutgoingFailureKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "OutgoingFailure";
    this.kind = kind;
  }
}
