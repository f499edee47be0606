/** What every step of a story needs: the rows, the snapshot, the server, and what must never stand in a log. */
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import { type ServerRow, serverTarget } from "../../shared/db/server-target.ts";
import type { OperationContext } from "../../shared/operations/definition.ts";
import { createRedactor, type Redactor } from "../../shared/operations/redact.ts";
import type { BlobStore } from "../../shared/ports/blob-store.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import type { FrameworkCatalogue } from "../../shared/ports/framework-catalogue.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { Shell } from "../../shared/ports/shell.ts";
import { DeployFailure } from "./failure.ts";
import { type GitAccess, readGitAccess } from "./git-access.ts";
import { createHand, type Hand } from "./pipeline/hand.ts";
import { type Names, namesOf } from "./pipeline/names.ts";
import { type PoolRules, rulesFor } from "./pool-rules.ts";
import { type RegistryAccess, readRegistryAccess } from "./registry-access.ts";
import { type DeploymentConfig, type Environment, openEnvironment } from "./snapshot.ts";
import type { DeploymentEvent, DeploymentState } from "./states.ts";
import { type DeploymentRow, deploymentRow, serverOf } from "./store.ts";

export interface StoryParts {
  db: Database;
  shell: Shell;
  /** Holds the rings `env`, `server`, `git` and `registry`. */
  sealer: Sealer;
  /** The wall clock: the length of a phase outlives the process that began it. */
  clock: Clock;
  log: Log;
  frameworks: FrameworkCatalogue;
  /** Folders that were uploaded. */
  uploads: BlobStore;
  /** Hold on servers of others. */
  pool: PoolRules;
  /** SLIPWAY_BASE_DOMAIN */
  baseDomain: string;
  /** SLIPWAY_ACME_DIRECTORY */
  acmeDirectory?: string | undefined;
}

export type DeploymentContext = OperationContext<DeploymentState, DeploymentEvent>;

export interface Story {
  parts: StoryParts;
  context: DeploymentContext;
  deployment: DeploymentRow;
  server: ServerRow;
  hand: Hand;
  names: Names;
  ids: { organizationId: string; projectId: string; deploymentId: string };
  config: DeploymentConfig;
  environment: Environment;
  /** Of the pool, where the server is another organization's; null on an own one. */
  rules: PoolRules | null;
  /** null: none is needed, or it is gone. */
  gitAccess: GitAccess | null;
  registryAccess: readonly RegistryAccess[];
  redactor: Redactor;
}

/** The snapshot has been taken. `lostForMs`: how long the server may be out of reach; default that of the limits. */
export async function openStory(
  parts: StoryParts,
  context: DeploymentContext,
  options: { lostForMs?: number } = {},
): Promise<Story> {
  const deployment = await deploymentRow(parts.db, context.id);
  const server = await serverOf(parts.db, deployment.serverId);
  if (server === undefined || server.deletedAt !== null) {
    throw new DeployFailure("server_deleted", "The project's server has been removed.");
  }
  if (deployment.config === null) throw new Error("a deployment has started without its snapshot");
  const environment = await openEnvironment(parts.sealer, deployment, deployment.sealedEnv);
  const config = deployment.config as unknown as DeploymentConfig;
  const gitAccess = await readGitAccess(parts.db, parts.sealer, config.source, deployment.organizationId);
  const { id: deploymentId, organizationId, projectId } = deployment;
  const rules = rulesFor(server, deployment, parts.pool);
  // A private image would lie on the server for every neighbour's `FROM`.
  const registryAccess =
    rules === null ? await readRegistryAccess(parts.db, parts.sealer, organizationId) : [];
  return {
    parts,
    context,
    deployment,
    server,
    hand: createHand({
      shell: parts.shell,
      target: serverTarget(server, parts.sealer),
      clock: parts.clock,
      fence: { resource: projectId, token: context.leaseToken },
      operationId: deploymentId,
      signal: context.signal,
      ...options,
    }),
    names: namesOf(deployment),
    ids: { organizationId, projectId, deploymentId },
    config,
    environment,
    rules,
    gitAccess,
    registryAccess,
    redactor: createRedactor([
      ...Object.values(environment),
      ...registryAccess.map(({ secret }) => secret),
      ...(gitAccess === null ? [] : [gitAccess.secret]),
    ]),
  };
}
