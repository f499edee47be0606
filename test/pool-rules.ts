/** The operator's pool as the real guard keeps it, with shares that a test sees at once. */
import type { PoolRules } from "../functions/deploy/pool-rules.ts";
import { createTargetGuard } from "../shared/adapters/target-guard.ts";

const guard = createTargetGuard({ guarded: true, resolvers: [], exceptions: [] });

export const testPool: PoolRules = {
  ...{ cpus: 0.5, memoryMB: 256, pids: 200 },
  publicAddresses: (host) => guard.resolve(host),
};
