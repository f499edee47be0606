/** Stored log lines of a deployment, oldest first: the same rows that the stream shows. */
import type { Database } from "../../shared/db/database.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { readEvents } from "../../shared/operations/event-log.ts";

export interface LogLine {
  seq: number;
  at: string;
  stream: "stdout" | "system";
  phase: string;
  line: string;
}

export async function readLogs(
  db: Database,
  principal: Principal,
  id: string,
  query: { since: number; limit: number; phase?: string | undefined },
): Promise<{ data: LogLine[]; nextCursor: string | null }> {
  await load(db, principal, "deployment", id);
  const { since, limit, phase } = query;
  const events = await readEvents(db, { operationId: id, since, limit: limit + 1, type: "log", phase });
  const shown = events.slice(0, limit).map(({ seq, at, data }): LogLine => {
    const stream = data["stream"] === "system" ? "system" : "stdout";
    return { seq, at, stream, phase: String(data["phase"]), line: String(data["line"]) };
  });
  const last = events.length > limit ? shown.at(-1) : undefined;
  return { data: shown, nextCursor: last === undefined ? null : String(last.seq) };
}
