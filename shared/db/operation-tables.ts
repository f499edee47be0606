/** The tables of long work, whatever its kind: who holds it, how far it is, and what it said. */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgSequence,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { OperationError } from "../domain/deployment.ts";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";

/** Source of fencing tokens: strictly growing over all operations, so that a server can refuse an older owner. */
export const leaseTokens = pgSequence("lease_tokens");

/** All long work (architecture.md section 4): deployments, bootstraps, clean-ups. Changed only through shared/operations. */
export const operations = pgTable(
  "operations",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    kind: text().notNull(),
    /** What it works on (a project, a server). At most one operation of a subject is in flight. */
    subjectId: text().notNull(),
    state: text().notNull(),
    final: boolean().notNull().default(false),
    inFlight: boolean().notNull().default(false),
    /** The seq that the next event gets; the first is 1 and there are no gaps. */
    nextSeq: bigint({ mode: "number" }).notNull().default(1),
    /** What a new owner needs to go on: offsets of followed logs, chosen names, phase. Written in one transaction with events. */
    progress: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    leaseOwner: text(),
    leaseToken: bigint({ mode: "number" }),
    leaseUntil: at(),
    runAfter: at(),
    attempts: integer().notNull().default(0),
    cancelRequestedAt: at(),
    error: jsonb().$type<OperationError | null>(),
    createdBy: text(),
    createdAt: createdAt(),
    startedAt: at(),
    finishedAt: at(),
  },
  (table) => [
    uniqueIndex("operations_one_in_flight").on(table.subjectId).where(sql`in_flight`),
    index("operations_open").on(table.runAfter).where(sql`not final`),
    index("operations_subject").on(table.subjectId, table.createdAt),
    index("operations_waiting").on(table.subjectId, table.createdAt).where(sql`not final`),
  ],
);

export const operationEvents = pgTable(
  "operation_events",
  {
    /** No foreign key: its check was 85 % of the cost of storing a line, and lines come only with their operation. */
    operationId: text().notNull(),
    seq: bigint({ mode: "number" }).notNull(),
    at: createdAt(),
    type: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.operationId, table.seq] })],
);
