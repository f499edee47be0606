/** Asks the embedded database by connecting, the only proof of readiness, and makes the platform's database in it. */
import pg from "pg";
import { databaseName, socketUrl } from "./embedded-postgres-layout.ts";

export type ProbeAnswer = "ready" | "not_yet" | "silent";

/** `silent`: nobody listens. `not_yet`: somebody does, but is starting, recovering or stopping. */
export async function probe(
  socketDirectory: string,
  deadlineMs: number,
  database = "postgres",
): Promise<ProbeAnswer> {
  const client = new pg.Client({
    connectionString: socketUrl(socketDirectory, database),
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs,
  });
  client.on("error", ignoreLateError);
  try {
    await client.connect();
    await client.query("SELECT 1");
    return "ready";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "ENOENT" || code === "ECONNREFUSED" ? "silent" : "not_yet";
  } finally {
    await client.end().catch(ignoreLateError);
  }
}

/** Done at every start, so that a start killed between `initdb` and this heals itself. */
export async function makeDatabase(socketDirectory: string): Promise<void> {
  const client = new pg.Client({
    connectionString: socketUrl(socketDirectory, "postgres"),
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
  });
  client.on("error", ignoreLateError);
  await client.connect();
  try {
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [databaseName]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`);
  } finally {
    await client.end();
  }
}

/** The answer has been given by then; an unheard `error` event would end the process. */
function ignoreLateError(): undefined {
  return undefined;
}
