/**
 * Asks the git host whether a connection works. A failure is the answer, not an error (decisions.md section 1). A token
 * says something only for a repository: what `git ls-remote` asks first is asked here, over HTTP, without git. Rejected:
 * asking the host's own API (each has another one) and following a redirect with the token in hand.
 */
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../../../shared/db/database.ts";
import { seenProjects } from "../../../shared/db/narrowing.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import { cloneUrlBelow, tokenUser } from "../../../shared/domain/git-connection.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { GitSource } from "../../../shared/domain/project.ts";
import { invalid } from "../../../shared/domain/refusal.ts";
import { gitSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { GitHostFailure } from "../../../shared/ports/git-host.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import type { PlatformParts } from "../parts.ts";
import type { GitConnectionRow } from "./show.ts";

export interface GitConnectionCheck {
  ok: boolean;
  error?: string;
  code?: string;
  checked: "repository" | "address" | "deploy_key";
  repository: string | null;
}

interface Asked {
  owner?: string | undefined;
  repo?: string | undefined;
}

const checkMs = 10_000;

export async function checkGitConnection(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  asked: Asked,
): Promise<GitConnectionCheck> {
  const connection = await load(parts.db, principal, "gitConnection", id);
  if ((asked.owner === undefined) !== (asked.repo === undefined)) {
    throw invalid(asked.owner === undefined ? "query.owner" : "query.repo", "is needed as well");
  }
  if (connection.kind === "deploy_key") return checkDeployKey(parts, connection);
  const source = await repositoryToAsk(parts.db, principal, connection, asked);
  return source === null ? checkAddress(parts, connection) : checkRepository(parts, connection, source);
}

type Repository = Pick<GitSource, "owner" | "repo" | "cloneUrl">;

async function repositoryToAsk(
  db: Queryable,
  principal: Principal,
  connection: GitConnectionRow,
  { owner, repo }: Asked,
): Promise<Repository | null> {
  if (owner !== undefined && repo !== undefined) return { owner, repo };
  const [newest] = await db
    .select({ source: projects.source })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, connection.organizationId),
        sql`${projects.source} ->> 'connectionId' = ${connection.id}`,
        isNull(projects.deletedAt),
        seenProjects(principal),
      ),
    )
    .orderBy(desc(projects.id))
    .limit(1);
  return newest?.source.kind === "git" ? newest.source : null;
}

async function checkAddress(
  parts: PlatformParts,
  { baseUrl }: GitConnectionRow,
): Promise<GitConnectionCheck> {
  const about = { checked: "address" as const, repository: null };
  try {
    const { status } = await parts.gitHost.ask({ url: baseUrl, deadlineMs: checkMs });
    if (status < 500) return { ok: true, ...about };
    return { ok: false, code: "git_failed", error: `The git host answers with status ${status}.`, ...about };
  } catch (error) {
    return { ...unreachable(error), ...about };
  }
}

async function checkRepository(
  parts: PlatformParts,
  connection: GitConnectionRow,
  source: Repository,
): Promise<GitConnectionCheck> {
  const about = { checked: "repository" as const, repository: `${source.owner}/${source.repo}` };
  const url = cloneUrlBelow(connection.baseUrl, source);
  if (url === null) {
    const error = "The repository's clone URL does not lie below the connection's baseUrl.";
    return { ok: false, code: "git_connection_mismatch", error, ...about };
  }
  const password = await parts.sealer.open("git", gitSecretPlace(connection), connection.sealedSecret);
  try {
    const answer = await parts.gitHost.ask({
      url: `${url}/info/refs?service=git-upload-pack`,
      credential: { user: tokenUser, password },
      deadlineMs: checkMs,
    });
    return { ...judge(answer), ...about };
  } catch (error) {
    return { ...unreachable(error), ...about };
  }
}

type Verdict = Pick<GitConnectionCheck, "ok" | "code" | "error">;

function judge({ status, contentType }: { status: number; contentType: string }): Verdict {
  if (status === 200 && contentType.startsWith("application/x-git-upload-pack-advertisement")) {
    return { ok: true };
  }
  const no = (code: string, error: string) => ({ ok: false, code, error });
  if (status === 401 || status === 403) {
    return no("git_not_allowed", "The git host refuses this token for the repository.");
  }
  if (status === 404) {
    return no("git_repository_not_found", "There is no such repository, or the token may not see it.");
  }
  if (status >= 300 && status < 400) {
    return no("git_redirected", "The git host answers with another address; the token is not sent there.");
  }
  return no("git_failed", `The address does not answer like a git host (status ${status}).`);
}

function unreachable(error: unknown): Verdict {
  if (error instanceof GitHostFailure) return { ok: false, code: "git_unreachable", error: error.message };
  throw error;
}

/** A session with the deploy key; whatever the host says to the command, it has taken the key by then. */
async function checkDeployKey(
  parts: PlatformParts,
  connection: GitConnectionRow,
): Promise<GitConnectionCheck> {
  const about = { checked: "deploy_key" as const, repository: null };
  const url = new URL(connection.baseUrl);
  const place = gitSecretPlace(connection);
  const target = {
    serverId: connection.id,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || "22"),
    user: url.username,
    hostKey: connection.hostKey ?? "",
    revision: connection.sealedSecret,
    credential: async () => ({
      kind: "key" as const,
      privateKey: await parts.sealer.open("git", place, connection.sealedSecret),
    }),
  };
  try {
    await parts.shell.run(target, { argv: ["git-upload-pack", "/"], deadlineMs: checkMs });
    return { ok: true, ...about };
  } catch (error) {
    if (error instanceof ShellFailure) {
      return { ok: false, code: error.reason, error: sentences[error.reason] ?? error.message, ...about };
    }
    throw error;
  } finally {
    parts.shell.forget(connection.id);
  }
}

const sentences: Partial<Record<ShellFailure["reason"], string>> = {
  host_key_changed:
    "The git host presents another key than the confirmed one; the deploy key was not offered.",
  authentication: "The git host does not take this deploy key.",
  unreachable: "The git host does not answer.",
};
