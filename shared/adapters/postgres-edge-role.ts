/**
 * Makes the role that the edge signs in under, for whoever may make roles. A role belongs to the whole server, so its
 * comment says which database it was made for: one that a person made, or another instance, keeps its password. Rejected:
 * a role's name for each instance (the grants of docs/operating.md and of the cloud name one). The server is given a
 * SCRAM verifier: statements come into its logs, and the password is in none.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { edgeRole } from "../db/edge-role.ts";
import { isDatabaseAway } from "../operations/database-away.ts";
import type { MigratedDatabase } from "./postgres-migrate.ts";

const iterations = 4096;

/** Undefined: the role stands and has this password. Otherwise why it does not, as half a sentence. */
export async function makeEdgeRole(db: MigratedDatabase, password: string): Promise<string | undefined> {
  const { rows } = await db.execute<{
    database: string;
    exists: boolean;
    madeFor: string | null;
    may: boolean;
  }>(
    sql`
      select current_database() as database, edge.oid is not null as exists,
        shobj_description(edge.oid, 'pg_authid') as "madeFor", me.rolsuper or me.rolcreaterole as may
      from pg_roles me left join pg_roles edge on edge.rolname = ${edgeRole} where me.rolname = current_user`,
  );
  const [seen] = rows;
  if (seen === undefined) throw new Error("Postgres does not know who is signed in.");
  const mark = `Made by Slipway's set-up for the database ${seen.database}`;
  if (seen.exists && seen.madeFor !== mark) return `the role ${edgeRole} was not made by this step`;
  if (!seen.may) return "the user of DATABASE_URL may not make roles";
  try {
    await db.transaction(async (tx) => {
      const verb = sql.raw(seen.exists ? "alter" : "create");
      await tx.execute(
        sql`${verb} role ${sql.identifier(edgeRole)} login password ${literal(verifierOf(password))}`,
      );
      await tx.execute(sql`comment on role ${sql.identifier(edgeRole)} is ${literal(mark)}`);
    });
  } catch (error) {
    if (isDatabaseAway(error, "database")) throw error;
    const told = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return `Postgres refuses the role ${edgeRole} (${told})`;
  }
  return undefined;
}

/** The address of the same database under the edge's role. */
export function edgeUrl(ownersUrl: string, password: string): string {
  const url = new URL(ownersUrl);
  // The driver believes these more than the address itself.
  for (const name of ["user", "password"]) url.searchParams.delete(name);
  if (url.host !== "") {
    url.username = edgeRole;
    url.password = password;
  } else {
    // A socket's: an address without a host takes no name.
    url.searchParams.set("user", edgeRole);
    url.searchParams.set("password", password);
  }
  return url.href;
}

/** Statements about roles take no parameters. */
function literal(text: string) {
  return sql.raw(`'${text.replaceAll("'", "''")}'`);
}

/** As Postgres would keep it (RFC 5803). */
function verifierOf(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${keyed("Server Key").toString("base64")}`;
}
