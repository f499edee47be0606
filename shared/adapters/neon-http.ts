/**
 * The platform's database from a host without sockets: Neon's driver, one HTTP request for a statement. It has no
 * interactive transactions; `together` sends several statements as one. Rejected: its WebSocket form (a connection for
 * each request, since a worker may not keep one for the next).
 */
import { neonConfig } from "@neondatabase/serverless";
import { drizzle } from "drizzle-orm/neon-http";
import type { Database } from "../db/database.ts";
import type { Together } from "../operations/statements.ts";

export interface NeonOptions {
  url: string;
  /** Where the driver's requests go instead of to Neon: a proxy of your own before a Postgres of your own. */
  endpoint?: string | undefined;
}

export interface NeonDatabase {
  db: Database;
  together: Together;
}

/** Opens nothing: each statement is a request of its own. */
export function openNeon({ url, endpoint }: NeonOptions): NeonDatabase {
  if (endpoint !== undefined) neonConfig.fetchEndpoint = endpoint;
  const db = drizzle({ connection: { connectionString: url }, casing: "snake_case" });
  return {
    db,
    async together(statements) {
      const [first, ...rest] = statements.map((statement) => db.execute(statement));
      if (first === undefined) return [];
      const results = await db.batch([first, ...rest]);
      return (results.at(-1)?.rows ?? []) as never[];
    },
  };
}
