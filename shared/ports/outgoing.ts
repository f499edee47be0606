/**
 * A request of the platform to an address that a user gave. Whoever gives an address could otherwise make the platform
 * talk to what only it can reach (its database, the cloud's metadata, the neighbours): a guarded request therefore
 * connects only to public addresses, to exactly the one that was checked, and follows no redirect.
 */
export interface Outgoing {
  /** An answer of whatever status. Throws `OutgoingFailure` when there is none. */
  send(request: OutgoingRequest): Promise<OutgoingAnswer>;
}

export interface OutgoingRequest {
  method: "GET" | "POST";
  /** http or https. */
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** For all of it: name, connection, answer. */
  deadlineMs: number;
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
