/**
 * The rows of commit statuses as their sender takes and settles them. One sender a row, by a lease with a token. A sender
 * that was frozen past its lease may have said something old after something new: it says so, and the row is sent again.
 * Times are those of the caller's clock.
 */
import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../../shared/db/database.ts";
import type { CommitState } from "../../../shared/domain/git-connection.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";

export interface TakenStatus {
  projectId: string;
  commitSha: string;
  organizationId: string;
  deploymentId: string;
  state: CommitState;
  description: string;
  revision: number;
  attempts: number;
  firstTriedMs: number;
  leaseToken: string;
  slug: string;
  projectDeleted: boolean;
  /** That the deployment was made from. */
  source: ProjectSource;
}

export async function takeDueStatuses(db: Queryable, most: number, nowMs: number): Promise<TakenStatus[]> {
  const now = stamp(nowMs);
  return rowsOf<TakenStatus>(
    db,
    sql`
      with due as (
        select project_id, commit_sha from commit_statuses
        where open and (lease_until is null or lease_until <= ${now}) and (not_before is null or not_before <= ${now})
        order by updated_at limit ${most} for no key update skip locked
      ), taken as (
        update commit_statuses as s
        set lease_token = nextval('lease_tokens'), lease_until = ${stamp(nowMs + limits.statusLeaseMs)},
          attempts = s.attempts + 1, first_tried_at = coalesce(s.first_tried_at, ${now})
        from due where s.project_id = due.project_id and s.commit_sha = due.commit_sha returning s.*
      )
      select t.project_id as "projectId", t.commit_sha as "commitSha", t.organization_id as "organizationId",
        t.deployment_id as "deploymentId", t.state, t.description, t.revision, t.attempts,
        (extract(epoch from t.first_tried_at) * 1000)::float8 as "firstTriedMs", t.lease_token::text as "leaseToken",
        p.slug, p.deleted_at is not null as "projectDeleted", coalesce(d.config -> 'source', p.source) as source
      from taken as t join projects as p on p.id = t.project_id join deployments as d on d.id = t.deployment_id`,
  );
}

/** `againAtMs` null: there is nothing more to do for this word. */
export async function settleStatus(
  db: Queryable,
  taken: TakenStatus,
  againAtMs: number | null,
): Promise<void> {
  const { projectId, commitSha, revision, leaseToken } = taken;
  const row = sql`project_id = ${projectId} and commit_sha = ${commitSha}`;
  const again = againAtMs === null ? sql`null::timestamptz` : stamp(againAtMs);
  const held = await rowsOf(
    db,
    sql`
      update commit_statuses
      set lease_token = null, lease_until = null, open = revision <> ${revision}::int or ${againAtMs !== null},
        not_before = case when revision = ${revision}::int then ${again} end
      where ${row} and lease_token = ${leaseToken}::bigint returning 1`,
  );
  if (held.length > 0) return;
  await db.execute(
    sql`update commit_statuses set open = true, revision = revision + 1, not_before = null where ${row}`,
  );
}

export async function forgetOldStatuses(db: Queryable, nowMs: number): Promise<void> {
  const before = stamp(nowMs - limits.statusesKeptMs);
  await db.execute(sql`delete from commit_statuses where not open and updated_at < ${before}`);
}

function stamp(ms: number): SQL {
  return sql`${new Date(ms).toISOString()}::timestamptz`;
}
