/** The deployments module with all that it needs: its routes, what its runner runs, and the folder of uploads. */
import { join } from "node:path";
import { wallClock } from "../shared/adapters/clocks.ts";
import { createFileBlobStore } from "../shared/adapters/file-blob-store.ts";
import { createFrameworkCatalogue } from "../shared/adapters/vercel-frameworks.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import type { KeyRing } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import { createCleanUpKind } from "./deploy/clean-up-kind.ts";
import { createPushForwarder } from "./deploy/cloud/forward-pushes.ts";
import { createDeploymentKind } from "./deploy/deployment-kind.ts";
import { createDeploy } from "./deploy/routes.ts";
import { sweepUploads } from "./deploy/uploads/sweep.ts";
import type { AssembledPart, PartContext } from "./part-context.ts";

export interface DeployPartOptions {
  rings: Record<"server" | "env" | "webhook" | "git" | "registry" | "cloud", KeyRing>;
}

export function assembleDeploy(context: PartContext, { rings }: DeployPartOptions): AssembledPart {
  const { configuration, ...shared } = context;
  const { baseDomain, acmeDirectory, dataFolder, mode } = configuration;
  const { server, env, webhook, git, registry, cloud } = rings;
  const uploads = createFileBlobStore(join(dataFolder, "uploads"));
  const sealer = createSealer({ server, env, webhook, git, registry, cloud });
  const common = { ...shared, clock: wallClock, baseDomain, acmeDirectory, sealer, uploads };
  const kind = createDeploymentKind({ ...common, frameworks: createFrameworkCatalogue() });
  // An instance of the cloud has no cloud of its own.
  const forwarder =
    mode === "cloud" ? null : createPushForwarder({ ...common, outgoing: context.outside.operated });
  return {
    app: createDeploy({ ...common, kind, mode, streams: context.outside.operatedStreams }),
    kinds: [kind, createCleanUpKind(common)],
    sweeps: [
      {
        everyMs: limits.uploadSweepMs,
        run: () => sweepUploads({ db: context.db, clock: wallClock, uploads }),
      },
    ],
    start: () => forwarder?.start(context.listener),
    stop: async () => forwarder?.stop(),
  };
}
