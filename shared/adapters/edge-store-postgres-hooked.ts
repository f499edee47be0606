/** Who is linked to a repository: the one question behind the look-up of a delivery and behind its insert, which asks again. */
import { type SQL, sql } from "drizzle-orm";

/** `wanted`: a jsonb array of repository, hook id and most rows. The columns are those of `HookedProject`. */
export function hookedBy(wanted: SQL): SQL {
  return sql`
    select id, organization_id as "organizationId", kind, auto_deploy as "autoDeploy", branch, location,
      sealed_webhook_secret as "sealedSecret"
    from projects
    where repository = ${wanted} ->> 0 and deleted_at is null and deleting_at is null
    order by coalesce(hook_id = ${wanted} ->> 1, false) desc, sealed_webhook_secret is null, id
    limit (${wanted} ->> 2)::int`;
}
