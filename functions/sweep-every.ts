/** Work that is done again and again until the process ends; a failure is told and waits for the next time. */
import { wallClock } from "../shared/adapters/clocks.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Sweep } from "./part-context.ts";

/** Resolves after the signal, when nothing runs any more. */
export async function sweepEvery(sweep: Sweep, log: Log, signal: AbortSignal): Promise<void> {
  const { everyMs, run, atOnce = false } = sweep;
  for (let waits = !atOnce; !signal.aborted; waits = true) {
    try {
      if (waits) await wallClock.sleep(everyMs, signal);
      await run();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "a sweep failed; the next one tries again");
    }
  }
}
