/**
 * Whether a project may have a source with this connection: of the same organization, and for a repository below its
 * address. Pointing a project at a repository reads it, so the caller must be one who may see connections.
 */
import { eq } from "drizzle-orm";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { load } from "../../../shared/db/tenancy.ts";
import { cloneUrlBelow } from "../../../shared/domain/git-connection.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import { invalid, notFound, Refusal } from "../../../shared/domain/refusal.ts";

/** `before`: what the project has now; the same repository again asks for no further permission. */
export async function useConnection(
  tx: Transaction,
  principal: Principal,
  source: ProjectSource,
  before?: ProjectSource,
): Promise<void> {
  if (source.kind !== "git" || source.connectionId === undefined) return;
  const connection = await load(tx, principal, "gitConnection", source.connectionId);
  if (!reads(source, before) && !principal.permissions.has("git_connection:read")) {
    throw new Refusal(
      "forbidden",
      "forbidden",
      "Using a git connection needs the permission git_connection:read.",
    );
  }
  // A connection that is being forgotten at this moment takes no project.
  const [row] = await tx
    .select({ deletedAt: gitConnections.deletedAt })
    .from(gitConnections)
    .where(eq(gitConnections.id, connection.id))
    .for("key share");
  if (row === undefined || row.deletedAt !== null) throw notFound();
  if (cloneUrlBelow(connection.baseUrl, source) === null) {
    throw invalid("body.source.cloneUrl", `must lie below ${connection.baseUrl}, the connection's baseUrl`);
  }
}

function reads(source: ProjectSource, before: ProjectSource | undefined): boolean {
  if (source.kind !== "git" || before?.kind !== "git") return false;
  return (["connectionId", "owner", "repo", "cloneUrl"] as const).every((key) => source[key] === before[key]);
}
