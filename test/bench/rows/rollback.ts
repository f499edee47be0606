/** Back to a kept version, with the git host switched off. */
import { benchApp, comparePhases, rollBack, rollBackFloor, type Timed } from "../app.ts";
import type { Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

export const rollback: Row = {
  name: "rollback",
  what: "rollback to a kept version; floor: docker run and proxy switch over ssh",
  async measure(stage) {
    const app = await benchApp(stage);
    const { git } = await stage.servers();
    const ours: Timed[] = [];
    const floor: Timed[] = [];
    await git.stop();
    try {
      for (let round = 0; round < (stage.quick ? 4 : 20); round++) {
        const to = app.before;
        ours.push(await rollBack(stage, app));
        floor.push(await rollBackFloor(app, to));
      }
    } finally {
      await git.start();
    }
    const times = ours.map(({ ms }) => ms);
    return {
      lines: [
        {
          what: "rollback to live",
          unit: "ms",
          ours: median(times),
          floor: median(floor.map(({ ms }) => ms)),
          goal: { ratioAtMost: 1.25 },
        },
        {
          what: "rollback to live, p95",
          unit: "ms",
          ours: percentile(times, 95),
          floor: percentile(
            floor.map(({ ms }) => ms),
            95,
          ),
          goal: { atMost: 1_500 },
        },
      ],
      notes: [`phases, ours/floor in ms: ${comparePhases(ours, floor, median)}`],
    };
  },
};
