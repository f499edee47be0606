/**
 * The edge's questions to Postgres. Statements stand alone; only the outcome of a push is a batch of two, a lock and
 * one statement that does everything, because a single statement would look at the deployments as they were before it
 * got the lock. Rejected: an interactive transaction, which the driver of the cloud's edge does not have.
 */
import { and, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { memberships, tokens } from "../db/identity-tables.ts";
import { type Gather, inBatches } from "../db/in-batches.ts";
import { limits } from "../domain/limits.ts";
import { inTransaction, type RowsByName, rowsOf, type Together } from "../operations/statements.ts";
import type { EdgeStore, StoredCredential } from "../ports/edge-store.ts";
import { createPostgresIdempotency } from "./edge-store-postgres-idempotency.ts";
import { createPostgresInbox } from "./edge-store-postgres-inbox.ts";
import { findSession, touchSession } from "./edge-store-postgres-session.ts";

export interface EdgeStoreOptions {
  /** Only where the driver has no interactive transactions. */
  together?: Together;
  /** Where requests cannot share a statement. */
  gather?: Gather;
  /** Where a connection keeps named statements. */
  rowsByName?: RowsByName;
}

export function createPostgresEdgeStore(
  db: Database,
  {
    together = inTransaction(db),
    gather = inBatches,
    rowsByName = (_name, statement) => rowsOf(db, statement),
  }: EdgeStoreOptions = {},
): EdgeStore {
  return {
    ping: async () => void (await rowsOf(db, sql`select 1`)),
    findCredential: (tokenHash) => findCredential(db, tokenHash),
    touchCredential: (credentialId) => touchCredential(db, credentialId),
    findSession: (hash, organizationId) => findSession(db, hash, organizationId),
    touchSession: (sessionId) => touchSession(db, sessionId),
    idempotency: createPostgresIdempotency(db),
    inbox: createPostgresInbox(db, { together, gather, rowsByName }),
  };
}

async function findCredential(db: Database, tokenHash: string): Promise<StoredCredential | null> {
  const [row] = await db
    .select({
      id: tokens.id,
      organizationId: tokens.organizationId,
      userId: tokens.userId,
      role: memberships.role,
      permissions: tokens.permissions,
      projectIds: tokens.projectIds,
      serverIds: tokens.serverIds,
      expiresAt: tokens.expiresAt,
    })
    .from(tokens)
    .innerJoin(
      memberships,
      and(eq(memberships.organizationId, tokens.organizationId), eq(memberships.userId, tokens.userId)),
    )
    .where(
      and(
        eq(tokens.hash, tokenHash),
        isNull(tokens.revokedAt),
        or(isNull(tokens.expiresAt), gt(tokens.expiresAt, sql`now()`)),
      ),
    );
  if (row === undefined) return null;
  const { expiresAt, ...credential } = row;
  return { ...credential, expiresAtMs: expiresAt?.getTime() ?? null };
}

async function touchCredential(db: Database, credentialId: string): Promise<void> {
  const lately = sql`now() - make_interval(secs => ${limits.lastUsedMs / 1000})`;
  await db
    .update(tokens)
    .set({ lastUsedAt: sql`now()` })
    .where(and(eq(tokens.id, credentialId), or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, lately))));
}
