/**
 * What a story holds in its hand: every write goes through the fence of the lease, and local time is asked first, so
 * that a process which was stopped for a while writes nothing. A database that cannot be asked counts as a lost lease:
 * what was written is unknown, and the next owner reads it from the row.
 */
import { sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/database.ts";
import { isDatabaseAway } from "./database-away.ts";
import {
  type AnyOperationKind,
  CancelRequested,
  LeaseLost,
  type NewEvent,
  type OperationContext,
  type TransitionExtras,
} from "./definition.ts";
import type { Claimed } from "./lease.ts";
import { type Ending, mechanismKey } from "./mechanism.ts";
import { change, encode, heldBy, rowsOf } from "./statements.ts";
import { move } from "./transition.ts";

export interface Hold {
  db: Database;
  kind: AnyOperationKind;
  claimed: Claimed;
  /** Throws `LeaseLost` when by local time the lease may be over. */
  check: () => void;
  /** Called when the database says that it is over. */
  onLost: (reason: LeaseLost) => void;
  /** Called when the database says that a cancel was asked for. */
  onCancel: () => void;
}

export interface HeldOperation {
  /** For the story; `signal` aborts on a cancel too. */
  context(signal: AbortSignal): OperationContext<string, string>;
  isFinal(): boolean;
  isIrrevocable(): boolean;
  /** Notes how this is going to end; an owner who takes over goes on ending it. */
  noteEnding(ending: Ending): Promise<void>;
  /** The last move; no cancel can hold it up. */
  end(event: string, more: TransitionExtras): Promise<void>;
}

export function holdOperation(hold: Hold): HeldOperation {
  const { kind, claimed } = hold;
  const held = heldBy(claimed.id, claimed.leaseToken);
  const unlessCancelled = sql`(cancel_requested_at is null or progress -> 'mechanism' ->> 'irrevocable' = 'true')`;
  let state = claimed.state;
  let progress: Record<string, unknown> = claimed.progress;
  let irrevocable = claimed.mechanism.irrevocable === true;

  const fenced = async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    hold.check();
    try {
      return await work(hold.db);
    } catch (error) {
      if (error instanceof LeaseLost || isDatabaseAway(error, "database")) {
        const lost = error instanceof LeaseLost ? error : new LeaseLost({ cause: error });
        hold.onLost(lost);
        throw lost;
      }
      if (error instanceof CancelRequested) {
        hold.onCancel();
      }
      throw error;
    }
  };

  const append = async (events: readonly NewEvent[], patch: Record<string, unknown> = {}) => {
    refuseMechanism(patch);
    await fenced(async (db) => {
      const set = sql`progress = progress || ${encode(patch)}::jsonb`;
      if (!(await change(db, { set, where: held, events }))) {
        throw new LeaseLost();
      }
    });
    progress = { ...progress, ...patch };
  };

  const moveBy = async (event: string, free: boolean, also?: Also, more: TransitionExtras = {}) => {
    refuseMechanism(more.progress ?? {});
    const condition = free ? held : sql`${held} and ${unlessCancelled}`;
    const to = await fenced((db) =>
      db.transaction(async (tx) => {
        const { id, subjectId } = claimed;
        const moved = await move(tx, { kind, id, subjectId, from: state, event, condition, more });
        if (moved === undefined) {
          throw await whyNot(tx, claimed);
        }
        await also?.(tx);
        return moved;
      }),
    );
    state = to;
    progress = { ...progress, ...more.progress };
  };

  const write = (work: Also) =>
    fenced((db) =>
      db.transaction(async (tx) => {
        if (!(await change(tx, { set: sql`lease_owner = lease_owner`, where: held, events: [] }))) {
          throw new LeaseLost();
        }
        await work(tx);
      }),
    );

  const patchMechanism = (patch: Record<string, unknown>, free: boolean, also?: Also) =>
    fenced((db) =>
      db.transaction(async (tx) => {
        const set = sql`progress = jsonb_set(progress, '{mechanism}', (progress -> 'mechanism') || ${encode(patch)}::jsonb)`;
        const where = free ? held : sql`${held} and ${unlessCancelled}`;
        if (!(await change(tx, { set, where, events: [] }))) {
          throw await whyNot(tx, claimed);
        }
        await also?.(tx);
      }),
    );

  const pointOfNoReturn = async (also?: Also) => {
    if (!irrevocable) {
      await patchMechanism({ irrevocable: true }, false, also);
      irrevocable = true;
    }
  };

  return {
    isFinal: () => kind.final.has(state),
    isIrrevocable: () => irrevocable,
    noteEnding: (ending) => patchMechanism({ ending }, true),
    end: (event, more) => moveBy(event, true, undefined, more),
    context: (signal) => ({
      id: claimed.id,
      organizationId: claimed.organizationId,
      subjectId: claimed.subjectId,
      leaseToken: claimed.leaseToken,
      attempt: claimed.attempt,
      signal,
      get state() {
        return state;
      },
      get progress() {
        return progress;
      },
      append,
      transition: (event, also, more) => moveBy(event, false, also, more),
      write,
      pointOfNoReturn,
    }),
  };
}

type Also = (tx: Transaction) => Promise<void>;

function refuseMechanism(patch: Record<string, unknown>): void {
  if (Object.hasOwn(patch, mechanismKey)) {
    throw new Error(`"${mechanismKey}" in progress belongs to the mechanism`);
  }
}

/** A move did not hold: because a cancel came first, or because the lease is over. */
async function whyNot(tx: Transaction, { id, leaseToken }: Claimed): Promise<Error> {
  const [row] = await rowsOf<{ cancelled: boolean }>(
    tx,
    sql`select cancel_requested_at is not null as cancelled from operations where ${heldBy(id, leaseToken)}`,
  );
  return row?.cancelled === true ? new CancelRequested() : new LeaseLost();
}
