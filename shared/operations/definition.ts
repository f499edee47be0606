/**
 * What a kind of long work is: its states, and the story that moves through them. Deployments, bootstraps and
 * clean-ups all run through this one mechanism (architecture.md section 4): a row changed only through its state table,
 * an append-only event log, a lease with a fencing token, and a story that can be taken up by the next owner at any
 * point. Rejected: in-memory jobs (lost with the process) and a state machine a module (five mechanisms to harden).
 */

import type { Transaction } from "../db/database.ts";
import type { OperationError } from "../domain/deployment.ts";
import type { Log } from "../ports/log.ts";

/** Which event leads from a state to which; an absent pair is refused. */
export type StateTable<State extends string, Event extends string> = Record<
  State,
  Partial<Record<Event, State>>
>;

export interface OperationKind<State extends string, Event extends string> {
  /** Stored in the row: `deployment`, `server_bootstrap`, … */
  kind: string;
  initial: State;
  states: StateTable<State, Event>;
  final: ReadonlySet<State>;
  /**
   * Events that the mechanism itself raises. `cancelled` is raised when a cancel was asked for and the story has ended
   * the work; `superseded` when a newer one of the same subject waits; `failed` when the story throws.
   */
  mechanism: { failed: Event; cancelled: Event; superseded: Event | null };
  /** The story. Must leave the operation in a final state, or throw. Called again, from the start, by every new owner. */
  run(context: OperationContext<State, Event>): Promise<void>;
  /** Turns what the story threw into what the row and the user get. `log` says which operation it was. */
  explain(error: unknown, log: Log): OperationError;
  /** Called with the last move, in its transaction, whoever made it: for what others are told about the end. */
  onEnd?(tx: Transaction, ended: EndedOperation): Promise<void>;
  /** Called before `failed` or `cancelled` is written: ends remote work, proves it gone. May throw; then it is tried again. */
  undo(context: OperationContext<State, Event>): Promise<void>;
}

export interface EndedOperation {
  id: string;
  /** A final one. */
  state: string;
  error: OperationError | null;
}

export interface NewEvent {
  type: string;
  data: Record<string, unknown>;
}

export interface StoredEvent extends NewEvent {
  seq: number;
  /** ISO 8601 */
  at: string;
}

export interface OperationContext<State extends string, Event extends string> {
  readonly id: string;
  readonly organizationId: string;
  readonly subjectId: string;
  /** The fencing token of this owner: strictly above that of every owner before. */
  readonly leaseToken: number;
  /** 1 for the first owner. */
  readonly attempt: number;
  readonly state: State;
  /** As last written; for a new owner, as the previous one left it. */
  readonly progress: Readonly<Record<string, unknown>>;
  /**
   * Aborts when the lease is lost or the process stops (reason `LeaseLost`: stop at once, write nothing, touch
   * nothing) or a cancel was asked for (reason `CancelRequested`: throw it on, the mechanism calls `undo`).
   */
  readonly signal: AbortSignal;
  /** Appends events and merges `progress` in one fenced transaction. Throws `LeaseLost` for a fenced-out owner. */
  append(events: NewEvent[], progress?: Record<string, unknown>): Promise<void>;
  /**
   * Moves by the state table, with its `status` event (and `complete` for a final state) and whatever else belongs
   * into the same transaction. Throws `CancelRequested` once a cancel was asked for, unless the point of no return is
   * behind: an accepted cancel is never answered with a success. Inside `also` use `tx` only, never this context.
   */
  transition(event: Event, also?: (tx: Transaction) => Promise<void>, more?: TransitionExtras): Promise<void>;
  /** Writes of the story to its own rows: same fence, one transaction. Inside use `tx` only, never this context. */
  write(change: (tx: Transaction) => Promise<void>): Promise<void>;
  /**
   * From here on a cancel is refused (`requestCancel` answers `too_late`). Throws `CancelRequested` if one came first:
   * the row decides which. Survives a change of owner; calling it again does nothing more.
   */
  pointOfNoReturn(also?: (tx: Transaction) => Promise<void>): Promise<void>;
}

export interface TransitionExtras {
  /** What `complete` and the row carry; for final states only. Default null. */
  error?: OperationError | null;
  /** Stored before the `status` event. */
  events?: NewEvent[];
  progress?: Record<string, unknown>;
}

/** A kind as the mechanism sees it. */
export type AnyOperationKind = OperationKind<string, string>;

/** This owner's time is over: another may already be at work. Nothing may be written or touched any more. */
export class LeaseLost extends Error {
  constructor(options?: { cause?: unknown }) {
    super("The lease on this operation was lost", options);
    this.name = "LeaseLost";
  }
}

export class CancelRequested extends Error {
  constructor() {
    super("A person asked to cancel");
    this.name = "CancelRequested";
  }
}
