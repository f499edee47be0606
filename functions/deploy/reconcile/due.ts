/**
 * Whose branch is looked at next. Taking a turn moves the next one on, in one statement, so that any number of replicas
 * share the work and nobody looks twice; one that dies is simply followed by the next turn.
 */
import { sql } from "drizzle-orm";
import type { Queryable } from "../../../shared/db/database.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { GitSource } from "../../../shared/domain/project.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";

export interface DueBranch {
  projectId: string;
  organizationId: string;
  serverId: string;
  source: GitSource;
  /** null: the default branch. */
  branch: string | null;
  /** Repository and branch as the row names them. */
  sourceKey: string;
  /** The last head seen; null: none yet. */
  head: string | null;
  misses: number;
}

/** What deploys by itself, and can. */
const isWatched = sql`project.auto_deploy and project.kind = 'app' and project.repository is not null
  and project.source ->> 'kind' = 'git' and project.location = 'local' and project.deleted_at is null and project.deleting_at is null`;

/** As the settling of a push writes it (edge-store-postgres-settle.ts). */
const sourceKey = sql`project.repository || ' ' || coalesce(project.branch, '')`;

/** What is watched no more is forgotten, so that it begins anew; what is new gets its first turn. */
export async function refreshWatched(db: Queryable): Promise<void> {
  await rowsOf(
    db,
    sql`delete from branch_heads using projects as project where project.id = project_id and not (${isWatched})`,
  );
  await rowsOf(
    db,
    sql`
      insert into branch_heads (project_id, source)
      select project.id, ${sourceKey} from projects as project
      where ${isWatched} and not exists (select from branch_heads where project_id = project.id)
      on conflict do nothing`,
  );
}

export function takeTurns(db: Queryable, everyMs: number, most: number): Promise<DueBranch[]> {
  return rowsOf<DueBranch>(
    db,
    sql`
      update branch_heads as watched set
        next_look_at = now() + make_interval(secs => ${everyMs / 1000} * (0.9 + 0.2 * random())),
        head = case when watched.source = due.source_key then watched.head end,
        source = due.source_key
      from (
        select project_id, project.organization_id, project.server_id, project.source, project.branch,
          ${sourceKey} as source_key
        from branch_heads as row
        join projects as project on project.id = row.project_id
        join servers as server on server.id = project.server_id
        where row.next_look_at <= now() and ${isWatched}
          and server.deleted_at is null and server.bootstrapped_at is not null
          -- A host may still show the head before for a moment after a push.
          and (row.pushed_at is null or row.pushed_at < now() - make_interval(secs => ${limits.reconcileGraceMs / 1000}))
        order by row.next_look_at limit ${most}
        for update of row skip locked
      ) as due
      where watched.project_id = due.project_id
      returning watched.project_id as "projectId", due.organization_id as "organizationId",
        due.server_id as "serverId", due.source, due.branch, due.source_key as "sourceKey", watched.head,
        watched.misses`,
  );
}

/** A look without an answer: the next ones come later and later, an hour at most. */
export async function noteMiss(db: Queryable, { projectId }: DueBranch, everyMs: number): Promise<void> {
  const mostMs = Math.max(everyMs, limits.reconcileRestMostMs);
  await rowsOf(
    db,
    sql`
      update branch_heads set misses = misses + 1,
        next_look_at = now() + make_interval(secs =>
          least(${everyMs / 1000} * power(2, least(misses, 10)), ${mostMs / 1000}) * (0.9 + 0.2 * random()))
      where project_id = ${projectId}`,
  );
}
