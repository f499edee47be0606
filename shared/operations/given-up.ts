/**
 * What its user sees of an operation whose message the queue gave up. The message was only a nudge, so the operation
 * goes on without it where it can; one that never began and that nobody can start ends as failed, with a reason, instead of
 * waiting for ever. What was thrown is for the log alone: it may hold a statement with its values.
 */
import { sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { isDatabaseAway } from "./database-away.ts";
import type { AnyOperationKind } from "./definition.ts";
import { openOperations, orderOfSubject } from "./queue-order.ts";
import { change } from "./statements.ts";
import { move } from "./transition.ts";

/** One line in the operation's log. False where it is over, or never was. */
export async function noteGivenUp(db: Database, id: string, error: unknown): Promise<boolean> {
  const why = isDatabaseAway(error, "database") ? "the database did not answer" : "an internal error";
  const line = `The queue gave up the message of this after several attempts (${why}). It goes on without the message; if it can never start, it ends here.`;
  return await change(db, {
    set: sql`kind = kind`,
    where: sql`id = ${id} and not final`,
    events: [{ type: "log", data: { stream: "system", phase: "queue", line } }],
  });
}

/** Ends what never began. Anything in flight has left work behind: its next owner undoes that. */
export async function endGivenUp(
  db: Database,
  kinds: ReadonlyMap<string, AnyOperationKind>,
  id: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await orderOfSubject(tx, id);
    const kind = kinds.get(row?.kind ?? "");
    if (row === null || kind === undefined) return;
    const waiting = (await openOperations(tx, row.subjectId)).find((each) => each.id === id);
    if (waiting === undefined) return;
    const error = {
      code: "message_given_up",
      message:
        "The queue gave up the message of this, and it could not be started without it: an internal error.",
      hint: `Start it anew. If that fails as well, the platform's log says why: look for ${id}.`,
      logTail: [],
    };
    await move(tx, {
      kind,
      id,
      subjectId: row.subjectId,
      from: waiting.state,
      event: kind.mechanism.failed,
      condition: sql`not in_flight`,
      more: { error },
    });
  });
}
