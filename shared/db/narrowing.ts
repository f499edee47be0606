/**
 * What a narrowed token sees. Narrowing to projects leaves their servers, narrowing to servers leaves the projects on
 * them, and both together leave what passes both: narrowing again never shows more. Rejected: lists that stand beside
 * each other (a token for one project could then be given the server of another).
 */
import { and, inArray, type SQL, sql } from "drizzle-orm";
import type { Principal } from "../domain/principal.ts";
import { deployments } from "./deployment-tables.ts";
import { auditEntries, tokens } from "./identity-tables.ts";
import { projects } from "./project-tables.ts";
import { servers } from "./server-tables.ts";

type Narrowing = Pick<Principal, "projectIds" | "serverIds">;

/** For queries over `projects`; undefined where nothing is narrowed. */
export function seenProjects({ projectIds, serverIds }: Narrowing): SQL | undefined {
  return and(
    projectIds === null ? undefined : inArray(projects.id, projectIds),
    serverIds === null ? undefined : inArray(projects.serverId, serverIds),
  );
}

/** For queries over `servers`. */
export function seenServers({ projectIds, serverIds }: Narrowing): SQL | undefined {
  const hosts =
    projectIds === null
      ? undefined
      : sql`exists (select from ${projects} where ${projects.serverId} = ${servers.id}
          and ${projects.deletedAt} is null and ${inArray(projects.id, projectIds)})`;
  return and(serverIds === null ? undefined : inArray(servers.id, serverIds), hosts);
}

/** For queries over `tokens`: those that are narrowed at least as much. */
export function seenTokens({ projectIds, serverIds }: Narrowing): SQL | undefined {
  return and(
    projectIds === null ? undefined : sql`${tokens.projectIds} <@ ${JSON.stringify(projectIds)}::jsonb`,
    serverIds === null ? undefined : sql`${tokens.serverIds} <@ ${JSON.stringify(serverIds)}::jsonb`,
  );
}

/** For queries over the audit: what was done to the projects, deployments and servers that are seen, or by the token itself. */
export function seenEntries(principal: Narrowing & { credentialId: string }): SQL | undefined {
  if (!isNarrowed(principal)) return undefined;
  const { resourceKind: kind, resourceId: id, credentialId } = auditEntries;
  return sql`(${credentialId} = ${principal.credentialId}
    or (${kind} = 'project' and ${id} in (select ${projects.id} from ${projects} where ${seenProjects(principal)}))
    or (${kind} = 'server' and ${id} in (select ${servers.id} from ${servers} where ${seenServers(principal)}))
    or (${kind} = 'deployment' and ${id} in (
      select ${deployments.id} from ${deployments} join ${projects} on ${projects.id} = ${deployments.projectId}
      where ${seenProjects(principal)})))`;
}

function isNarrowed({ projectIds, serverIds }: Narrowing): boolean {
  return projectIds !== null || serverIds !== null;
}
