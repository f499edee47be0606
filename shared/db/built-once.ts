/**
 * A statement of the busiest paths, put together once for a database and not for each request: drizzle's builder was a
 * seventh of the processor time of a read. Inside a transaction it is built as ever. Not named on the server: poolers
 * do not all keep named statements.
 */
import type { Queryable } from "./database.ts";

export function builtOnce<Built>(build: (db: Queryable) => Built): (db: Queryable) => Built {
  const known = new WeakMap<Queryable, Built>();
  return (db) => {
    const built = known.get(db) ?? build(db);
    known.set(db, built);
    return built;
  };
}

/** For `prepare`, which takes the server's name of a statement. */
export const unnamed = "";
