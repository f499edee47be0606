/** The module beside a deploy platform of the lab: on its database, its server and its sealed secrets. */
import { randomBytes } from "node:crypto";
import { createMemoryLimiter } from "../../../edge/adapters/memory-limiter.ts";
import { createRemovalKind } from "../../../functions/platform/removal/kind.ts";
import { createPlatform } from "../../../functions/platform/routes.ts";
import { createSetUpCode } from "../../../functions/platform/set-up-code.ts";
import { monotonicClock, wallClock } from "../../../shared/adapters/clocks.ts";
import { createGitHostApi } from "../../../shared/adapters/git-host-api-http.ts";
import { createGitHost } from "../../../shared/adapters/git-host-http.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { refuseUnsigned } from "../../../shared/http/identity-header.ts";
import { createRunner } from "../../../shared/operations/runner.ts";
import { testOutgoing } from "../../outgoing.ts";
import { silentLog } from "../../silent-log.ts";
import type { LabWorld } from "../deploy/lab-world.ts";
import { type Caller, caller, makeIdentity } from "./platform.ts";

export async function openPlatformBeside(
  world: LabWorld,
): Promise<{ call: Caller; close: () => Promise<void> }> {
  const { db, sealer, feed, database } = world.platform;
  const shell = createSsh2Shell();
  const gitHostApi = createGitHostApi(testOutgoing());
  const parts = { db, shell, gitHostApi, sealer, baseDomain: "localhost", log: silentLog, clock: wallClock };
  const app = createPlatform({
    ...parts,
    outgoing: testOutgoing(),
    gitHost: createGitHost(testOutgoing()),
    baseUrl: "https://slipway.example.com",
    limiter: createMemoryLimiter(),
    setUpCode: createSetUpCode(() => undefined),
    fingerprintKey: randomBytes(32).toString("base64"),
    verifyIdentity: refuseUnsigned,
    feed,
    exposeMetrics: async () => "",
  });
  const runner = createRunner({
    db,
    listener: database.listener,
    kinds: [createRemovalKind(parts)],
    owner: "removals",
    concurrency: 2,
    clock: monotonicClock,
    log: silentLog,
  });
  runner.start();
  const { organizationId, userId } = world.organization;
  return {
    call: caller(app, await makeIdentity(db, organizationId, userId, {})),
    close: async () => {
      await runner.stop();
      await shell.close();
    },
  };
}
