/** The platform module with all that it needs: organizations, servers, projects, and the bootstraps of servers. */
import { createHmac } from "node:crypto";
import { wallClock } from "../shared/adapters/clocks.ts";
import { createGitHostApi } from "../shared/adapters/git-host-api-http.ts";
import { createGitHost } from "../shared/adapters/git-host-http.ts";
import { forgetOldWindows } from "../shared/adapters/postgres-limiter.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import type { KeyRing } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import type { Limiter } from "../shared/ports/limiter.ts";
import type { AssembledPart, PartContext } from "./part-context.ts";
import { createBootstrapKind } from "./platform/bootstrap/kind.ts";
import { forgetExpired } from "./platform/forget-expired.ts";
import { monitorServers } from "./platform/monitor-servers.ts";
import { tellOfPool } from "./platform/pool.ts";
import { createRemovalKind } from "./platform/removal/kind.ts";
import { createPlatform } from "./platform/routes.ts";
import type { SetUpCode } from "./platform/set-up-code.ts";

export interface PlatformPartOptions {
  rings: Record<"server" | "env" | "webhook" | "git" | "registry" | "cloud", KeyRing>;
  limiter: Limiter;
  setUpCode: SetUpCode;
  exposeMetrics: () => Promise<string>;
}

export function assemblePlatform(context: PartContext, options: PlatformPartOptions): AssembledPart {
  const { configuration, ...shared } = context;
  const { baseUrl, baseDomain, acmeDirectory, pool } = configuration;
  const { server, env, webhook, git, registry, cloud } = options.rings;
  const gitHostApi = createGitHostApi(context.outside.operated);
  const common = { ...shared, clock: wallClock, baseDomain, acmeDirectory, gitHostApi };
  const worker = { ...common, sealer: createSealer({ server, env, git, registry }) };
  return {
    app: createPlatform({
      ...common,
      sealer: createSealer({ server, env, webhook, git, registry, cloud }),
      outgoing: context.outside.operated,
      gitHost: createGitHost(context.outside.operated),
      baseUrl,
      poolServers: pool.serverIds,
      limiter: options.limiter,
      setUpCode: options.setUpCode,
      fingerprintKey: fingerprintKey(env),
      exposeMetrics: options.exposeMetrics,
    }),
    kinds: [createBootstrapKind(worker), createRemovalKind(worker)],
    sweeps: [
      {
        everyMs: limits.expiredSweepMs,
        run: () => Promise.all([forgetExpired(context.db), forgetOldWindows(context.db)]),
      },
      { everyMs: limits.monitorMs, run: () => monitorServers(worker) },
      ...(pool.serverIds.length === 0
        ? []
        : [{ everyMs: limits.poolLookMs, atOnce: true, run: () => tellOfPool(worker, pool.serverIds) }]),
    ],
  };
}

/** A key of its own for fingerprints, so that one key never serves two purposes. */
function fingerprintKey(env: KeyRing): string {
  const oldest = env.at(-1) ?? env[0];
  return createHmac("sha256", Buffer.from(oldest.key, "base64"))
    .update("fingerprints of env values")
    .digest("base64");
}
