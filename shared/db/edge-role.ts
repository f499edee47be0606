/**
 * What the edge may do in the database, for an edge that signs in under a role of its own: it stands on the internet, and
 * what it does not have nobody takes from it. Columns are named, so that no sealed value beside a webhook's secret can be
 * read. Rejected: views (the edge would have statements of its own on one host), and grants inside migrations (the role
 * is made by whoever runs the database, before or after them). (architecture.md section 6)
 */
export const edgeRole = "slipway_edge";

/** Given anew after every migration, since a version may read a column more than the one before. */
const grants: readonly string[] = [
  "select (id, organization_id, user_id, hash, permissions, project_ids, server_ids, expires_at, revoked_at, last_used_at), update (last_used_at) on tokens",
  "select (id, user_id, hash, expires_at, revoked_at), update (expires_at) on sessions",
  "select (organization_id, user_id, role, created_at) on memberships",
  "select (id, primary_owner_id) on organizations",
  "select (id, organization_id, server_id, name, kind, repository, branch, auto_deploy, location, hook_id, sealed_webhook_secret, deleted_at, deleting_at) on projects",
  "select, insert, update on webhook_deliveries",
  "select, insert, update, delete on idempotency_answers",
  "select, insert, update, delete on rate_windows",
  "select (id, state), insert on operations",
  "insert on operation_events",
  "select (id, project_id, trigger, branch, before_sha, commit_sha), insert on deployments",
  "select, insert, update on branch_heads",
  "select (id, resource_id, category, created_at), insert on alerts",
];

/** Not of `all tables in schema`: one that an extension or somebody else has put beside ours would refuse it as a whole. */
const revokeAll = `
  do $$ declare each regclass; begin
    for each in select oid from pg_class where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p', 'v', 'm', 'f') and pg_has_role(relowner, 'usage')
    loop execute format('revoke all privileges on table %s from ${edgeRole}', each); end loop;
  end $$`;

/** In one transaction: an edge that is asked meanwhile sees the old grants or the new ones, never none. */
export function grantsOfEdge(): string[] {
  return [
    revokeAll,
    `grant usage on schema public to ${edgeRole}`,
    ...grants.map((each) => `grant ${each} to ${edgeRole}`),
  ];
}
