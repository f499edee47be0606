/** The main job: how long until a pushed version answers, beside the same steps in a script over ssh. */
import { benchApp, commitVersion, comparePhases, deployFloor, pushVersion, type Timed } from "../app.ts";
import type { Row } from "../row.ts";
import { median } from "../statistics.ts";

export const push: Row = {
  name: "push",
  what: "signed push until the new version answers through the proxy; floor: one shell script over ssh",
  async measure(stage) {
    const app = await benchApp(stage);
    const ours: Timed[] = [];
    const floor: Timed[] = [];
    for (let round = 0; round < (stage.quick ? 3 : 9); round++) {
      const commit = await commitVersion(stage);
      // In turns, so that what else runs on the machine is as likely to hit the one as the other.
      const steps = [
        async () => void ours.push(await pushVersion(stage, app, commit)),
        async () => void floor.push(await deployFloor(app, commit)),
      ];
      for (const step of round % 2 === 0 ? steps : steps.reverse()) await step();
    }
    const times = {
      ours: median(ours.map(({ ms }) => ms)),
      floor: median(floor.map(({ ms }) => ms)),
      unit: "ms" as const,
    };
    return {
      lines: [
        { what: "push to live", ...times, goal: { ratioAtMost: 1.1 } },
        { what: "push to live, of our own", ...times, goal: { aboveFloorAtMost: 1_000 } },
      ],
      notes: [`phases, ours/floor in ms: ${comparePhases(ours, floor, median)}`],
    };
  },
};
