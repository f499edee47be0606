/** Requests lost while versions change under load: keep-alive visitors until the last old release has been stopped. */
import { limits } from "../../../shared/domain/limits.ts";
import { visitSteadily } from "../../demo/visitors.ts";
import { benchApp, rollBack } from "../app.ts";
import type { Row } from "../row.ts";

/** After the drain the old container is told to stop, and has a few seconds for it. */
const stoppedMs = limits.drainMs + 5_000;

export const swap: Row = {
  name: "swap",
  what: "requests lost while swapping under load, until after the drain",
  async measure(stage) {
    const app = await benchApp(stage);
    const wanted = stage.quick ? 1_000 : 10_000;
    const swaps = stage.quick ? 2 : 5;
    const ending = new AbortController();
    const visits = visitSteadily(app.url, { visitors: 8, pauseMs: 5, signal: ending.signal });
    try {
      for (let swapped = 0; swapped < swaps; swapped++) {
        await rollBack(stage, app);
        // The drains of two swaps overlap with the next swap; the last ones are waited for.
        await pause(2_000);
      }
      await pause(stoppedMs);
    } finally {
      ending.abort();
    }
    const { requests, lost, losses } = await visits;
    if (requests < wanted) stage.say(`only ${requests} of ${wanted} requests were made`);
    return {
      lines: [
        { what: `lost of ${requests}`, unit: "requests", ours: lost, floor: null, goal: { atMost: 0 } },
      ],
      notes: [`${swaps} swaps, ${requests} requests, lost ${lost} ${losses.join("; ")}`.trim()],
    };
  },
};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
