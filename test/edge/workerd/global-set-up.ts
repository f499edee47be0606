/** One workerd for all tests of a run on that host, and a Neon endpoint in front of the run's Postgres. */
import type { TestProject } from "vitest/node";
import { edgeRole } from "../../../shared/db/edge-role.ts";
import { withDatabase } from "../../global-set-up.ts";
import { startNeonProxy } from "../../neon-proxy.ts";
import { startWranglerDev } from "../../wrangler-dev.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent: the edge under test is in the test's own process. */
    workerd: { url: string; neonEndpoint: string } | undefined;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const urlOf = (name: string) => withDatabase(project.getProvidedContext().postgresUrl, name);
  // The worker may do what the role of the edge may, and its suites show that this is enough.
  const neon = await startNeonProxy(urlOf, { role: edgeRole });
  const worker = await startWranglerDev({ script: "test/edge/workerd/worker-under-test.ts" });
  project.provide("workerd", { url: worker.url, neonEndpoint: neon.endpoint });
  return async () => {
    if (process.env["SLIPWAY_TEST_WORKER_LOG"] !== undefined) console.log(worker.output());
    await worker.stop();
    await neon.close();
  };
}
