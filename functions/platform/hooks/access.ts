/**
 * The repository of a project in the API of its git host, with the token for it. Only a connection of kind token leads
 * there, and only to what is cloned through it. What is missing is said so that a person can add the webhook by hand.
 */
import type { Sealer } from "../../../shared/crypto/seal.ts";
import { connectionOfSource } from "../../../shared/db/connection-of-source.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { apiRepositoryUrl } from "../../../shared/domain/git-connection.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import { gitSecretPlace } from "../../../shared/domain/sealed-place.ts";
import type { ApiRepository } from "../../../shared/ports/git-host-api.ts";

interface Sourced {
  organizationId: string;
  source: ProjectSource;
}

type Connection = NonNullable<Awaited<ReturnType<typeof connectionOfSource>>>;

/** `given`: the connection as it was, where it has changed since. */
export async function apiAccess(
  db: Queryable,
  sealer: Pick<Sealer, "open">,
  project: Sourced,
  given?: Connection,
): Promise<{ repository: ApiRepository } | { reason: string }> {
  const connection = given ?? (await connectionOfSource(db, project));
  if (connection === undefined) {
    return { reason: "The project's source names no git connection, so nobody can register the webhook." };
  }
  if (connection.kind === "deploy_key") {
    return { reason: "A deploy key cannot register webhooks; a git connection with a token can." };
  }
  const url = urlBelow(connection, project);
  if (url === null) {
    const reason =
      "owner and repo of the project's source are not the repository that is cloned, so the connection's token is not used there. Correct them, or cloneUrl.";
    return { reason };
  }
  const { organizationId } = project;
  const place = gitSecretPlace({ id: connection.id, organizationId });
  return { repository: { url, token: await sealer.open("git", place, connection.sealedSecret) } };
}

/** null: the API does not lead to this source. */
export async function repositoryUrlOf(db: Queryable, project: Sourced): Promise<string | null> {
  const connection = await connectionOfSource(db, project);
  return connection === undefined || connection.kind !== "token" ? null : urlBelow(connection, project);
}

/**
 * `host/owner/repo` in lower case, however it is fetched; null: no repository. A webhook that a person has added belongs
 * to it. `given`: the connection as it was.
 */
export async function placeOf(db: Queryable, project: Sourced, given?: Connection): Promise<string | null> {
  const { source } = project;
  if (source.kind !== "git") return null;
  const connection = given ?? (await connectionOfSource(db, project));
  const url = connection?.baseUrl ?? source.cloneUrl ?? "https://github.com";
  return `${URL.parse(url)?.hostname ?? ""}/${source.owner}/${source.repo}`.toLowerCase();
}

function urlBelow({ baseUrl }: { baseUrl: string }, { source }: Sourced): string | null {
  return source.kind === "git" ? apiRepositoryUrl(baseUrl, source) : null;
}
