/** A controller as a process of its own, for tests that kill it. Reads what it needs as one line of JSON on standard input. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCleanUpKind } from "../../../functions/deploy/clean-up-kind.ts";
import { createDeploymentKind } from "../../../functions/deploy/deployment-kind.ts";
import { monotonicClock, wallClock } from "../../../shared/adapters/clocks.ts";
import { createFileBlobStore } from "../../../shared/adapters/file-blob-store.ts";
import { openDatabase } from "../../../shared/adapters/postgres.ts";
import { openListener } from "../../../shared/adapters/postgres-listen.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { createFrameworkCatalogue } from "../../../shared/adapters/vercel-frameworks.ts";
import { createSealer, type KeyRings } from "../../../shared/crypto/seal.ts";
import type { LeaseTimes } from "../../../shared/operations/lease-times.ts";
import { createRunner } from "../../../shared/operations/runner.ts";
import { testPool } from "../../pool-rules.ts";
import { silentLog } from "../../silent-log.ts";

export interface WorkerInput {
  url: string;
  keys: KeyRings;
  lease: LeaseTimes;
}

let text = "";
for await (const chunk of process.stdin) text += String(chunk);
const { url, keys, lease } = JSON.parse(text) as WorkerInput;
const { db } = openDatabase({ url, log: silentLog, max: 5 });
const listener = openListener({ url, log: silentLog });
const parts = {
  db,
  shell: createSsh2Shell(),
  sealer: createSealer(keys),
  clock: wallClock,
  log: silentLog,
  frameworks: createFrameworkCatalogue(),
  uploads: createFileBlobStore(join(tmpdir(), "slipway-test-uploads")),
  pool: testPool,
  baseDomain: "localhost",
};
createRunner({
  db,
  listener,
  kinds: [createDeploymentKind(parts), createCleanUpKind(parts)],
  owner: `worker ${process.pid}`,
  concurrency: 4,
  clock: monotonicClock,
  log: silentLog,
  lease,
}).start();
