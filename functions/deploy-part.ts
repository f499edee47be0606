/** The deployments module with all that it needs: its routes, what its runner runs, and the folder of uploads. */
import { join } from "node:path";
import { replayDelivery } from "../edge/webhooks/inbox.ts";
import { wallClock } from "../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { createFileBlobStore } from "../shared/adapters/file-blob-store.ts";
import { createGitHostApi } from "../shared/adapters/git-host-api-http.ts";
import { createFrameworkCatalogue } from "../shared/adapters/vercel-frameworks.ts";
import { createSealer, type Sealer } from "../shared/crypto/seal.ts";
import type { KeyRing } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import { createCleanUpKind } from "./deploy/clean-up-kind.ts";
import { createPushForwarder } from "./deploy/cloud/forward-pushes.ts";
import { createDeploymentKind } from "./deploy/deployment-kind.ts";
import { forgetDeliveries } from "./deploy/inbox/forget-old.ts";
import type { PoolRules } from "./deploy/pool-rules.ts";
import { reconcile } from "./deploy/reconcile/sweep.ts";
import { createDeploy } from "./deploy/routes.ts";
import { forgetOldStatuses } from "./deploy/statuses/outbox.ts";
import { sendDueStatuses } from "./deploy/statuses/send.ts";
import { sweepUploads } from "./deploy/uploads/sweep.ts";
import type { AssembledPart, PartContext, Sweep } from "./part-context.ts";

export interface DeployPartOptions {
  rings: Record<"server" | "env" | "webhook" | "git" | "registry" | "cloud", KeyRing>;
}

export function assembleDeploy(context: PartContext, { rings }: DeployPartOptions): AssembledPart {
  const { configuration, ...shared } = context;
  const { baseUrl, baseDomain, acmeDirectory, dataFolder, mode } = configuration;
  const { server, env, webhook, git, registry, cloud } = rings;
  const uploads = createFileBlobStore(join(dataFolder, "uploads"));
  const sealer = createSealer({ server, env, webhook, git, registry, cloud });
  const pool = { ...configuration.pool, publicAddresses: context.outside.publicAddresses };
  const common = { ...shared, clock: wallClock, baseDomain, acmeDirectory, sealer, uploads, pool };
  const gitHostApi = createGitHostApi(context.outside.operated);
  const kind = createDeploymentKind({ ...common, frameworks: createFrameworkCatalogue() });
  // The commit itself wakes the runner; it needs no nudge.
  const ingress = {
    store: createPostgresEdgeStore(context.db),
    log: context.log,
    nudge: async () => undefined,
  };
  // An instance of the cloud has no cloud of its own.
  const forwarder =
    mode === "cloud" ? null : createPushForwarder({ ...common, outgoing: context.outside.operated });
  return {
    app: createDeploy({
      ...common,
      kind,
      mode,
      streams: context.outside.operatedStreams,
      redeliver: (id, replay) => replayDelivery(ingress, id, replay),
    }),
    kinds: [kind, createCleanUpKind(common)],
    sweeps: [
      ...reconcileSweep(context, sealer, pool),
      {
        everyMs: limits.expiredSweepMs,
        run: () => forgetDeliveries(context.db, { nowMs: wallClock.nowMs() }),
      },
      {
        everyMs: limits.statusSweepMs,
        run: () => sendDueStatuses({ ...common, gitHostApi, baseUrl }),
      },
      {
        everyMs: limits.expiredSweepMs,
        run: () => forgetOldStatuses(context.db, wallClock.nowMs()),
      },
      {
        everyMs: limits.uploadSweepMs,
        run: () => sweepUploads({ db: context.db, clock: wallClock, uploads }),
      },
    ],
    start: () => forwarder?.start(context.listener),
    stop: async () => forwarder?.stop(),
  };
}

function reconcileSweep(context: PartContext, sealer: Sealer, pool: PoolRules): Sweep[] {
  const { db, shell, log, stopping: signal } = context;
  const everyMs = context.configuration.reconcileSeconds * 1000;
  if (everyMs === 0) return [];
  const run = () => reconcile({ db, shell, sealer, log, pool, everyMs, signal });
  return [{ everyMs: Math.min(limits.reconcileSweepMs, everyMs), run }];
}
