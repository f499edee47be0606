/** One case of each fault, and one of each phase for a kill and for a cancel; the whole matrix is in test/soak. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { type Case, faultNames, phaseNames } from "./matrix.ts";
import { judgeRest } from "./rest.ts";
import { type Place, runCase } from "./run-case.ts";
import { type FaultStage, openFaultStage } from "./stage.ts";
import { makeSubject } from "./subject.ts";

/** Beside kill and cancel, which strike in all phases at once. */
const slice: readonly Case[] = [
  { fault: "stop", phase: "build" },
  { fault: "freeze", phase: "release" },
  { fault: "two", phase: "switch" },
  { fault: "cut", phase: "switch" },
  { fault: "sshd", phase: "fetch" },
  { fault: "database", phase: "build" },
  { fault: "reboot", phase: "health" },
];

describeWithLab("deployments, whatever happens to them", (lab) => {
  let stage: FaultStage;
  let places: [Place, ...Place[]];
  beforeAll(async () => {
    stage = await openFaultStage(lab);
    await stage.startController("short");
    const [first, ...others] = await Promise.all(
      phaseNames.map(async (phase) => ({ phase, subject: await makeSubject(stage) })),
    );
    if (first === undefined) throw new Error("there are no phases");
    places = [first, ...others];
  });
  afterAll(() => stage?.close());

  it("go on in every phase after a kill -9 of the controller", () => runCase(stage, "kill", places));

  it("end in every phase when they are cancelled, up to the switch", () => runCase(stage, "cancel", places));

  it.each(slice)("end as they should: $fault in $phase", async ({ fault, phase }) => {
    const place = places.find((each) => each.phase === phase) ?? places[0];
    await runCase(stage, fault, [place]);
  });

  it("leave nothing but the versions that serve", async () => {
    expect(new Set(["kill", "cancel", ...slice.map(({ fault }) => fault)])).toEqual(new Set(faultNames));
    await judgeRest(
      stage,
      places.map(({ subject }) => subject),
    );
  });
});
