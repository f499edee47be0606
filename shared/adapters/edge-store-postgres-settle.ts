/**
 * The outcome of a delivery and the deployments that follow, in one statement behind a lock: 100 copies of one push
 * that come at once make one deployment. The operation gets the form that `insertOperation` (shared/operations) gives
 * it; a test holds the two together.
 */
import { type SQL, sql } from "drizzle-orm";
import { limits } from "../domain/limits.ts";
import { channels } from "../operations/channels.ts";
import { encode, type Together } from "../operations/statements.ts";
import type { Claim, DeliveryPlan, SettledDelivery } from "../ports/edge-store.ts";

export async function settle(
  together: Together,
  claim: Claim,
  plan: DeliveryPlan,
): Promise<SettledDelivery | null> {
  if (plan.outcomes.some(({ verdict }) => verdict === "forwarded")) return handOver(together, claim, plan);
  const projectIds = plan.outcomes.flatMap((each) => (each.verdict === "deployed" ? [each.projectId] : []));
  // In one order, so that two deliveries for the same projects cannot wait for each other.
  const lock = sql`
    select pg_advisory_xact_lock(hashtextextended('slipway push ' || id, 0))
    from (select unnest(${sql.param(projectIds)}::text[]) as id order by 1) as wanted`;
  const write = outcome(claim, plan);
  const [row] = await together<SettledDelivery>(projectIds.length === 0 ? [write] : [lock, write]);
  return row ?? null;
}

/** Nothing is deployed here: the row waits for the deploy function, which may talk to the cloud as the edge may not. */
async function handOver(
  together: Together,
  claim: Claim,
  plan: DeliveryPlan,
): Promise<SettledDelivery | null> {
  const write = sql`
    with handed as (
      update webhook_deliveries as row set status = 'received', forwarding = true, reason = ${plan.reason},
        outcomes = ${encode(plan.outcomes)}::jsonb || ${outcomesOfOthers(sql`${encode(plan.outcomes)}::jsonb`)},
        lease_until = null,
        attempts = least(attempts, ${limits.deliveryAttempts - 1})
      where id = ${claim.id} and attempts = ${claim.attempt} and status = 'claimed'
      returning id, status, reason
    )
    select status, reason, '[]'::jsonb as deployments, pg_notify(${channels.forwards}, id) as told from handed`;
  const [row] = await together<SettledDelivery>([write]);
  return row === undefined ? null : { status: row.status, reason: row.reason, deployments: [] };
}

function outcome(claim: Claim, plan: DeliveryPlan): SQL {
  const planned = plan.outcomes.flatMap((each) =>
    each.verdict === "deployed" ? [{ id: each.deploymentId, projectId: each.projectId, ...each.push }] : [],
  );
  const outcomes = plan.outcomes.map((each) =>
    each.verdict === "deployed"
      ? { projectId: each.projectId, verdict: each.verdict, deploymentId: each.deploymentId }
      : each,
  );
  return sql`
      with recursive claim as (
        select id, organization_id, replay from webhook_deliveries
        where id = ${claim.id} and attempts = ${claim.attempt} and status = 'claimed'
        for update
      ), planned as (
        select planned.*, project.organization_id, project.server_id, organization.primary_owner_id,
          project.repository || ' ' || coalesce(project.branch, '') as source
        from claim
        join jsonb_to_recordset(${encode(planned)}::jsonb) as planned(
          id text, "projectId" text, branch text, "beforeSha" text, "commitSha" text, "commitMessage" text
        ) on true
        join projects as project on project.id = planned."projectId"
          and project.organization_id = claim.organization_id and project.deleted_at is null
          and project.deleting_at is null and project.location = 'local'
        join organizations as organization on organization.id = project.organization_id
      ), ${movedOn}, judged as (
        select planned.*, ${whySkipped} as skip
        from claim, planned
        left join lateral (
          select trigger, before_sha, commit_sha, operations.state
          from deployments join operations using (id)
          where project_id = planned."projectId" order by deployments.id desc limit 1
        ) as newest on true
      ), fresh as (
        select * from judged where skip is null
      ), started as (
        insert into operations (id, organization_id, kind, subject_id, state, next_seq, created_by)
        select id, organization_id, 'deployment', "projectId", 'queued', 2, primary_owner_id from fresh
      ), logged as (
        insert into operation_events (operation_id, seq, at, type, data)
        select id, 1, clock_timestamp(), 'status', '{"status":"queued"}'::jsonb from fresh
      ), deployed as (
        insert into deployments (
          id, organization_id, project_id, server_id, trigger, branch, before_sha, commit_sha, commit_message,
          delivery_id
        )
        select fresh.id, fresh.organization_id, "projectId", server_id, 'push', branch, "beforeSha", "commitSha",
          "commitMessage", claim.id
        from fresh, claim
      ), seen as (
        insert into branch_heads (project_id, source, head, pushed_at)
        select "projectId", source, "commitSha", now() from fresh
        on conflict (project_id) do update set
          source = excluded.source, head = excluded.head, pushed_at = excluded.pushed_at
      ), looked as (
        select coalesce(jsonb_agg(
          case when outcome ->> 'verdict' = 'deployed' and fresh.id is null
            then jsonb_build_object('projectId', outcome -> 'projectId', 'verdict', 'skipped',
              'reason', coalesce(judged.skip, 'project_gone'))
            else outcome end
          order by place), '[]'::jsonb) as outcomes
        from jsonb_array_elements(${encode(outcomes)}::jsonb) with ordinality as each(outcome, place)
        left join judged on judged.id = outcome ->> 'deploymentId'
        left join fresh on fresh.id = judged.id
      ), told as (
        select jsonb_agg(jsonb_build_object('id', id, 'projectId', "projectId")) as deployments,
          count(pg_notify(${channels.due}, id)) as notified
        from fresh
      )
      update webhook_deliveries as row set
        status = case when told.notified > 0 then 'done' else 'ignored' end,
        reason = case when told.notified > 0 then null
          else coalesce(${plan.reason}::text, (select max(skip) from judged), 'project_gone') end,
        outcomes = looked.outcomes || ${outcomesOfOthers(sql`looked.outcomes`)}, finished_at = now(), lease_until = null
      from claim, looked, told
      where row.id = claim.id
      returning row.status, row.reason, coalesce(told.deployments, '[]'::jsonb) as deployments`;
}

/**
 * Where the branch went from the commit of each push, as far as the project's latest pushes tell. An edge is a push that
 * was seen, from its \`before\` to its \`after\`, so that ancestry is known without asking git. Of an ordinary push nothing
 * is known yet, and the walk ends at once.
 */
const movedOn = sql`
  edges as materialized (
    select planned.id, lately.before_sha as source, lately.commit_sha as target
    from planned, lateral (
      select branch, before_sha, commit_sha from deployments
      where project_id = planned."projectId" order by deployments.id desc limit ${limits.pushesRemembered}
    ) as lately
    where lately.branch = planned.branch and lately.before_sha is not null and lately.commit_sha is not null
  ), moved_on as (
    select edges.id, edges.target from edges join planned using (id) where edges.source = planned."commitSha"
    union
    select edges.id, edges.target from moved_on join edges on edges.id = moved_on.id and edges.source = moved_on.target
  )`;

/**
 * null: it deploys. A push whose own \`before\` lies behind its commit went back there, and is not stale for that. After
 * the reconcile job deployed a head, the pushes that led there are late: the last is a duplicate, the first is stale.
 */
const whySkipped = sql`
  case
    when coalesce((claim.replay ->> 'force')::boolean, false) then null
    when (newest.before_sha, newest.commit_sha) is not distinct from (planned."beforeSha", planned."commitSha")
      or (newest.trigger = 'reconcile' and newest.commit_sha = planned."commitSha")
    then case when claim.replay is not null and newest.state in ('failed', 'cancelled') then null
      else 'duplicate_push' end
    when newest.trigger = 'reconcile' and newest.before_sha = planned."beforeSha" then 'stale'
    when exists (select from moved_on where moved_on.id = planned.id) and not exists (
      select from moved_on where moved_on.id = planned.id and moved_on.target = planned."beforeSha") then 'stale'
  end`;

/** A replay for some of the projects says nothing about the others. */
const outcomesOfOthers = (now: SQL) => sql`
  coalesce((
    select jsonb_agg(before.outcome) from jsonb_array_elements(row.outcomes) as before(outcome)
    where not exists (
      select from jsonb_array_elements(${now}) as now(outcome)
      where now.outcome ->> 'projectId' = before.outcome ->> 'projectId')), '[]'::jsonb)`;
