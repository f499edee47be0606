/** Work that an answer does not wait for. A host that ends with the answer (workerd) is asked to stay for it. */
import type { Context } from "hono";
import type { Log } from "../../shared/ports/log.ts";
import type { EdgeEnv } from "../edge-options.ts";

export function inBackground(c: Context<EdgeEnv>, log: Log, failure: string, work: Promise<unknown>): void {
  const quiet = work.then(
    () => undefined,
    (error: unknown) => log.warn({ err: error, requestId: c.get("requestId") }, failure),
  );
  try {
    c.executionCtx.waitUntil(quiet);
  } catch {
    // Node has no execution context: a promise that nobody waits for goes on there by itself.
  }
}
