/**
 * Opens the platform's database, embedded or by `DATABASE_URL`, with bounds on everything: connections, time to
 * connect, time of a statement, idle transactions. A pooler in front (Neon's `-pooler` hosts) refuses start-up
 * settings, so there the bounds are those of the database itself.
 */
import type { SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Database } from "../db/database.ts";
import type { RowsByName } from "../operations/statements.ts";
import type { Log } from "../ports/log.ts";

export interface OpenDatabaseOptions {
  url: string;
  log: Log;
  /** Most connections. Default 10. */
  max?: number;
  statementTimeoutMs?: number;
}

export interface OpenedDatabase {
  readonly db: Database;
  /**
   * Planned once a connection: planning was half of the database's work for a small batch. Only for a database without a
   * pooler in front, since poolers do not all keep named statements, and their addresses do not all say so.
   */
  readonly rowsByName: RowsByName;
  /** For metrics. */
  counts(): { total: number; idle: number; waiting: number };
  /** Waits for what runs, five seconds at most. */
  close(): Promise<void>;
}

const connectMs = 10_000;
const idleMs = 10_000;
const closeMs = 5_000;

export function openDatabase(options: OpenDatabaseOptions): OpenedDatabase {
  const statementMs = options.statementTimeoutMs ?? 30_000;
  const db = drizzle({
    connection: {
      connectionString: options.url,
      max: options.max ?? 10,
      connectionTimeoutMillis: connectMs,
      idleTimeoutMillis: idleMs,
      keepAlive: true,
      ...(isPooled(options.url)
        ? {}
        : {
            application_name: "slipway",
            statement_timeout: statementMs,
            idle_in_transaction_session_timeout: 2 * statementMs,
          }),
    },
    casing: "snake_case",
  });
  const pool = db.$client;
  // An idle connection that breaks is replaced at its next use; unheard, the event would end the process.
  pool.on("error", (error) => options.log.warn({ error }, "an idle database connection broke"));
  // One that is lent out for a transaction and breaks between two statements has no listener but this: the next
  // statement fails and tells. Unheard, the end of the database ended the platform.
  pool.on("connect", (client) => {
    client.on("error", (error) => options.log.debug({ error }, "a database connection broke"));
  });
  const dialect = new PgDialect({ casing: "snake_case" });
  return {
    db,
    async rowsByName<Row>(name: string, statement: SQL) {
      const { sql: text, params } = dialect.sqlToQuery(statement);
      const { rows } = await pool.query({ name, text, values: params });
      return rows as Row[];
    },
    counts: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => within(pool.end(), closeMs),
  };
}

/** The database itself behind a pooler's address, as Neon names the two: for LISTEN, migrations and locks of a session. */
export function directUrl(url: string): string {
  if (!isPooled(url)) return url;
  const direct = new URL(url);
  direct.hostname = direct.hostname.replace(/^([^.]+)-pooler(?=\.|$)/, "$1");
  return direct.href;
}

export function isPooled(url: string): boolean {
  return new URL(url).hostname.split(".")[0]?.endsWith("-pooler") === true;
}

async function within(done: Promise<void>, deadlineMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadlineMs);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
