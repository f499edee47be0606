/** What the platform module is made of; the composition root brings it. */
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import type { GitHost } from "../../shared/ports/git-host.ts";
import type { GitHostApi } from "../../shared/ports/git-host-api.ts";
import type { Limiter } from "../../shared/ports/limiter.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { Outgoing } from "../../shared/ports/outgoing.ts";
import type { Shell } from "../../shared/ports/shell.ts";
import type { SetUpCode } from "./set-up-code.ts";

export interface PlatformParts {
  db: Database;
  /** Holds the rings `server`, `env`, `webhook`, `git`, `registry` and `cloud`. */
  sealer: Sealer;
  shell: Shell;
  gitHost: GitHost;
  gitHostApi: GitHostApi;
  /** To where an organization's own things are: its account in the cloud. */
  outgoing: Outgoing;
  log: Log;
  clock: Clock;
  /** Counts tries of passwords and one-time links by account. */
  limiter: Limiter;
  setUpCode: SetUpCode;
  /** Without a slash at the end. */
  baseUrl: string;
  baseDomain: string;
  acmeDirectory?: string | undefined;
  /** SLIPWAY_POOL_SERVERS; absent or empty: there is no pool. */
  poolServers?: readonly string[] | undefined;
  /** 32 bytes as base64: fingerprints of environment values. */
  fingerprintKey: string;
}
