/**
 * What Neon's HTTP endpoint does, in front of any Postgres: the real driver's requests, one statement or several in one
 * transaction, answered as raw text in arrays. The database is chosen by the connection string's path, or by `urlOf`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";

export interface NeonProxy {
  /** For `SLIPWAY_NEON_ENDPOINT`. */
  endpoint: string;
  close(): Promise<void>;
}

interface Asked {
  query: string;
  params: unknown[];
}

const rawText = { getTypeParser: () => (value: string) => value };
const errorFields = [
  "severity",
  "code",
  "detail",
  "hint",
  "schema",
  "table",
  "column",
  "constraint",
] as const;

/** `urlOf` answers the address of a database by its name. `role`: what all statements may do is what this one may. */
export async function startNeonProxy(
  urlOf: (database: string) => string,
  { role }: { role?: string } = {},
): Promise<NeonProxy> {
  const pools = new Map<string, pg.Pool>();
  const poolOf = (request: IncomingMessage): pg.Pool => {
    const asked = new URL(String(request.headers["neon-connection-string"]));
    const name = decodeURIComponent(asked.pathname.slice(1));
    const known = pools.get(name);
    if (known !== undefined) return known;
    const pool = new pg.Pool({
      connectionString: urlOf(name),
      max: 20,
      idleTimeoutMillis: 2_000,
      ...(role === undefined ? {} : { options: `-c role=${role}` }),
    });
    // A database of a test is dropped under its idle connections.
    pool.on("error", () => undefined);
    // And one that dies under a statement tells the statement.
    pool.on("connect", (client) => client.on("error", () => undefined));
    pools.set(name, pool);
    return pool;
  };
  const server = createServer((request, response) => {
    answer(request, response, poolOf).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sql`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  poolOf: (request: IncomingMessage) => pg.Pool,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked | { queries: Asked[] };
  const client = await poolOf(request).connect();
  try {
    const result =
      "queries" in asked ? { results: await inOne(client, asked.queries) } : await run(client, asked);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result));
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const told = Object.fromEntries(errorFields.map((field) => [field, error[field]]));
    response.writeHead(400).end(JSON.stringify({ message: error.message, ...told }));
  } finally {
    client.release();
  }
}

async function inOne(client: pg.PoolClient, queries: Asked[]): Promise<unknown[]> {
  await client.query("begin");
  try {
    const results: unknown[] = [];
    for (const each of queries) results.push(await run(client, each));
    await client.query("commit");
    return results;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function run(client: pg.PoolClient, { query, params }: Asked): Promise<unknown> {
  const { fields, rows, rowCount, command } = await client.query({
    text: query,
    values: params,
    rowMode: "array",
    types: rawText,
  });
  return { fields, rows, rowCount, command, rowAsArray: true };
}
