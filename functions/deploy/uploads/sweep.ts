/**
 * Takes away uploads that nobody can use any more. A session keeps its upload for an hour; then it is kept by the
 * deployments that may be built from it again: those under way, those that a rollback may want (their image is kept or
 * they are active), and the latest of a project, which a redeploy takes. Rejected: keeping every upload ever deployed
 * (the disk would fill with what nobody asks for).
 */
import { inArray, lt, sql } from "drizzle-orm";
import type { Database } from "../../../shared/db/database.ts";
import { uploadSessions } from "../../../shared/db/deployment-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import type { BlobStore } from "../../../shared/ports/blob-store.ts";
import type { Clock } from "../../../shared/ports/clock.ts";

export interface SweepParts {
  db: Database;
  clock: Clock;
  uploads: BlobStore;
}

/** Answers how many uploads went. */
export async function sweepUploads({ db, clock, uploads }: SweepParts): Promise<number> {
  const over = new Date(clock.nowMs() - limits.uploadGraceMs);
  await db.delete(uploadSessions).where(lt(uploadSessions.expiresAt, over));
  return uploads.sweep((digests) => inUse(db, digests), limits.uploadGraceMs);
}

async function inUse(db: Database, digests: readonly string[]): Promise<Set<string>> {
  const used = new Set<string>();
  const step = 1_000;
  for (let at = 0; at < digests.length; at += step) {
    const some = digests.slice(at, at + step);
    const ofSessions = await db
      .select({ digest: uploadSessions.digest })
      .from(uploadSessions)
      .where(inArray(uploadSessions.digest, some));
    const ofDeployments = await rowsOf<{ digest: string }>(
      db,
      sql`
      select distinct d.upload_digest as digest
      from deployments d
      join operations o on o.id = d.id
      join projects p on p.id = d.project_id
      where d.upload_digest in ${some}
        and (not o.final or (p.deleted_at is null and (
          d.artifact = 'kept' or d.pinned or p.active_deployment_id = d.id or not exists (
            select from deployments newer
            where newer.project_id = d.project_id and newer.upload_digest is not null and newer.id > d.id))))`,
    );
    for (const { digest } of [...ofSessions, ...ofDeployments]) if (digest !== null) used.add(digest);
  }
  return used;
}
