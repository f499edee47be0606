/**
 * What a request to cancel does: an operation that nobody works on is cancelled in this very transaction; the owner of
 * one in flight is told, ends the work, proves it gone and writes `cancelled`. Rejected: writing `cancelled` here in
 * any case, while the work goes on (the field's most common lie).
 */
import { sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/database.ts";
import { channels } from "./channels.ts";
import type { OperationKind } from "./definition.ts";
import { orderOfSubject } from "./queue-order.ts";
import { allows, standIn } from "./state-table.ts";
import { rowsOf } from "./statements.ts";
import { move } from "./transition.ts";

export type CancelAnswer =
  | "cancelled" // written: nobody was working on it
  | "requested" // its owner has been told; follow it until `complete`
  | "too_late" // past its point of no return
  | "final" // over already
  | "absent";

export const cancelledByPerson = {
  code: "cancelled",
  message: "Cancelled on request.",
  hint: null,
  logTail: [],
};

interface Row {
  kind: string;
  subjectId: string;
  state: string;
  final: boolean;
  inFlight: boolean;
  irrevocable: boolean;
}

/** `kind` is that of the operation; an id of another kind is `absent`. Check the caller's rights before. */
export async function requestCancel<State extends string, Event extends string>(
  db: Database,
  kind: OperationKind<State, Event>,
  id: string,
): Promise<CancelAnswer> {
  return await db.transaction(async (tx) => {
    await orderOfSubject(tx, id);
    const [row] = await rowsOf<Row>(
      tx,
      sql`
        select kind, subject_id as "subjectId", state, final, in_flight as "inFlight",
          coalesce((progress -> 'mechanism' ->> 'irrevocable')::boolean, false) as irrevocable
        from operations where id = ${id} for no key update`,
    );
    if (row === undefined || row.kind !== kind.kind) {
      return "absent";
    }
    if (row.final) {
      return "final";
    }
    const { cancelled } = kind.mechanism;
    if (row.irrevocable || !allows(kind.states, standIn(kind, row.state, cancelled) as State, cancelled)) {
      return "too_late";
    }
    return row.inFlight ? await tellOwner(tx, id) : await cancelWaiting(tx, kind, id, row);
  });
}

async function tellOwner(tx: Transaction, id: string): Promise<CancelAnswer> {
  await rowsOf(
    tx,
    sql`
      with asked as (
        update operations set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
        where id = ${id} returning id
      )
      select pg_notify(${channels.cancels}, id), pg_notify(${channels.due}, id) from asked`,
  );
  return "requested";
}

async function cancelWaiting<State extends string, Event extends string>(
  tx: Transaction,
  kind: OperationKind<State, Event>,
  id: string,
  row: Row,
): Promise<CancelAnswer> {
  const { subjectId, state: from } = row;
  const event = kind.mechanism.cancelled;
  const more = { error: cancelledByPerson };
  await move(tx, { kind, id, subjectId, from, event, condition: sql`not in_flight`, more });
  return "cancelled";
}
