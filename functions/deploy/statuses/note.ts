/**
 * What the git host is to show beside a deployment's commit, written with the state that it tells of. One row a project
 * and commit: a newer deployment's word replaces that of an older one, a later word of one deployment its earlier one,
 * and never the other way round. Sent by somebody else (send.ts): a slow git host holds up no deployment. Rejected: a row a
 * word, which would have to be kept in order over retries, only to have all but the last forgotten by the host.
 */
import { sql } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import type { CommitState } from "../../../shared/domain/git-connection.ts";
import type { EndedOperation } from "../../../shared/operations/definition.ts";
import { wordsForEnd } from "./words.ts";

/** Its commit may not be known yet: then the fetch says it, and this is called again. */
export async function noteUnderWay(tx: Transaction, deploymentId: string): Promise<void> {
  await note(tx, deploymentId, { state: "pending", description: "Being deployed" });
}

export async function noteEnd(tx: Transaction, ended: EndedOperation): Promise<void> {
  await note(tx, ended.id, wordsForEnd(ended));
}

/**
 * Only for a source with a connection that can say it. Ids ascend with time. One that never started says nothing over
 * another deployment of its commit.
 */
async function note(
  tx: Transaction,
  deploymentId: string,
  { state, description }: { state: CommitState; description: string },
): Promise<void> {
  await tx.execute(sql`
    with word as (
      select d.project_id, d.commit_sha, d.organization_id, d.id, o.started_at is not null as started
      from deployments d
      join operations o on o.id = d.id
      join projects p on p.id = d.project_id
      join git_connections g on g.id = coalesce(d.config -> 'source', p.source) ->> 'connectionId'
      where d.id = ${deploymentId} and d.commit_sha is not null
        and g.organization_id = d.organization_id and g.kind = 'token' and g.deleted_at is null
    )
    insert into commit_statuses as kept (project_id, commit_sha, organization_id, deployment_id, state, description)
    select project_id, commit_sha, organization_id, id, ${state}, ${description} from word
    on conflict (project_id, commit_sha) do update
    set deployment_id = excluded.deployment_id, state = excluded.state, description = excluded.description,
      revision = kept.revision + 1, open = true, attempts = 0, first_tried_at = null, not_before = null,
      updated_at = now()
    where (select started from word) and (
      excluded.deployment_id > kept.deployment_id
      or (excluded.deployment_id = kept.deployment_id and kept.state = 'pending' and excluded.state <> 'pending')
    )`);
}
