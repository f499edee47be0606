/** One case of each fault, and one of each phase for a kill and for a cancel; the whole matrix is in test/soak. */
import { afterAll, beforeAll, it } from "vitest";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import type { Inventory } from "./inventory.ts";
import { type Case, phaseNames } from "./matrix.ts";
import { judgeRest, rest } from "./oracle.ts";
import { openSubject, runCase, type Subject } from "./run-case.ts";
import { type FaultStage, openFaultStage } from "./stage.ts";

const slice: readonly Case[] = [
  ...phaseNames.map((phase) => ({ fault: "kill", phase }) as const),
  ...phaseNames.map((phase) => ({ fault: "cancel", phase }) as const),
  { fault: "stop", phase: "build" },
  { fault: "freeze", phase: "release" },
  { fault: "two", phase: "switch" },
  { fault: "cut", phase: "switch" },
  { fault: "sshd", phase: "fetch" },
  { fault: "database", phase: "build" },
  { fault: "reboot", phase: "health" },
];

describeWithLab("a deployment, whatever happens to it", (lab) => {
  let stage: FaultStage;
  let subject: Subject;
  let before: Inventory;
  beforeAll(async () => {
    stage = await openFaultStage(lab);
    subject = await openSubject(stage);
    before = await rest(stage);
  });
  afterAll(() => stage?.close());

  it.each(slice)("ends as it should when, in $phase, $fault", async (each) => {
    await runCase(stage, subject, each);
  });

  it("leaves nothing but the version that serves", async () => {
    await judgeRest(stage, subject.projectId, before);
  });
});
