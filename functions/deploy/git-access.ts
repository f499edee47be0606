/**
 * The credential with which a deployment fetches its source, read when the fetch begins and never part of the snapshot:
 * a token that was replaced meanwhile is the one that works. Where the project's repository no longer lies below the
 * connection's address nothing is fetched: the secret goes there and nowhere else.
 */
import type { Sealer } from "../../shared/crypto/seal.ts";
import { connectionOfSource } from "../../shared/db/connection-of-source.ts";
import type { Queryable } from "../../shared/db/database.ts";
import { cloneUrlBelow, type GitConnectionKind } from "../../shared/domain/git-connection.ts";
import type { GitSource, ProjectSource } from "../../shared/domain/project.ts";
import { gitSecretPlace } from "../../shared/domain/sealed-place.ts";
import { DeployFailure } from "./failure.ts";

/** A deployment's connection with its secret, opened. */
export interface GitAccess {
  kind: GitConnectionKind;
  baseUrl: string;
  secret: string;
  hostKey: string | null;
}

/** null where the source names none, or one that is gone; the fetch tells them apart. */
export async function readGitAccess(
  db: Queryable,
  sealer: Sealer,
  source: ProjectSource,
  organizationId: string,
): Promise<GitAccess | null> {
  const row = await connectionOfSource(db, { organizationId, source });
  if (row === undefined) return null;
  const { id, sealedSecret, ...shown } = row;
  return { ...shown, secret: await sealer.open("git", gitSecretPlace({ id, organizationId }), sealedSecret) };
}

/** Where a project's repository is cloned from. Throws `DeployFailure` where its connection cannot serve it. */
export function cloneUrlOf(source: GitSource, access: GitAccess | null): string {
  if (source.connectionId === undefined) {
    return source.cloneUrl ?? `https://github.com/${source.owner}/${source.repo}.git`;
  }
  if (access === null) {
    throw new DeployFailure(
      "git_connection_gone",
      "The git connection of this source has been removed.",
      "Give the project's source another connection, then deploy again.",
    );
  }
  const url = cloneUrlBelow(access.baseUrl, source);
  if (url === null) {
    throw new DeployFailure(
      "git_connection_mismatch",
      "The repository does not lie below the address of its git connection, so the credential is not used.",
      "Correct cloneUrl of the project's source, or baseUrl of the connection.",
    );
  }
  return url;
}
