/**
 * How a state changes: in one statement with its `status` event and, where the state is final, with error, end time,
 * `complete` event and the end of the lease. The next operation that waits for the same subject is nudged in the same
 * transaction, so that nobody has to wait for a sweep.
 */
import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/database.ts";
import type { OperationError } from "../domain/deployment.ts";
import { channels } from "./channels.ts";
import type { AnyOperationKind, NewEvent, TransitionExtras } from "./definition.ts";
import { next, standIn } from "./state-table.ts";
import { change, encode, rowsOf } from "./statements.ts";

export interface Move {
  kind: AnyOperationKind;
  id: string;
  subjectId: string;
  from: string;
  event: string;
  /** Beside id, state and not being final: who may do this. */
  condition: SQL;
  more?: TransitionExtras;
}

/** Writes the move and answers the new state, or undefined where row or condition have changed. Throws `TransitionRefused`. */
export async function move(
  tx: Transaction,
  { kind, id, subjectId, from, event, condition, more = {} }: Move,
) {
  const to = next(kind.states, standIn(kind, from, event), event);
  const final = kind.final.has(to);
  const error = more.error ?? null;
  const moved = await change(tx, {
    set: sql`state = ${to}, progress = progress || ${encode(more.progress ?? {})}::jsonb ${final ? ending(error) : sql``}`,
    where: sql`id = ${id} and state = ${from} and not final and ${condition}`,
    events: [...(more.events ?? []), ...told(to, final, error)],
  });
  if (moved && final) {
    await nudgeNext(tx, subjectId);
    await kind.onEnd?.(tx, { id, state: to, error });
  }
  return moved ? to : undefined;
}

function ending(error: OperationError | null): SQL {
  const value = error === null ? sql`null` : sql`${encode(error)}::jsonb`;
  return sql`, final = true, in_flight = false, lease_owner = null, lease_until = null,
    finished_at = clock_timestamp(), error = ${value}`;
}

function told(status: string, final: boolean, error: OperationError | null): NewEvent[] {
  const events: NewEvent[] = [{ type: "status", data: { status } }];
  return final ? [...events, { type: "complete", data: { status, error } }] : events;
}

async function nudgeNext(tx: Transaction, subjectId: string): Promise<void> {
  await rowsOf(
    tx,
    sql`
      select pg_notify(${channels.due}, id) from (
        select id from operations
        where subject_id = ${subjectId} and not final and not in_flight
        order by created_at, id limit 1
      ) as waiting`,
  );
}
