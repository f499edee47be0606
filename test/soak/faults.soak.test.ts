/** Every fault in every phase. After each case the server holds nothing but the version that serves. */
import { afterAll, beforeAll, it } from "vitest";
import type { Inventory } from "../faults/inventory.ts";
import { faults, wholeMatrix } from "../faults/matrix.ts";
import { judgeRest, rest } from "../faults/oracle.ts";
import { openSubject, runCase, type Subject } from "../faults/run-case.ts";
import { type FaultStage, openFaultStage } from "../faults/stage.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";

describeWithLab("a deployment, in every phase, whatever happens to it", (lab) => {
  let stage: FaultStage;
  let subject: Subject;
  let before: Inventory;
  beforeAll(async () => {
    stage = await openFaultStage(lab);
    subject = await openSubject(stage);
    before = await rest(stage);
  });
  afterAll(() => stage?.close());

  it.each(wholeMatrix.map((each) => ({ ...each, what: faults[each.fault].title })))(
    "$phase: $what",
    async ({ fault, phase }) => {
      await runCase(stage, subject, { fault, phase });
      await judgeRest(stage, subject.projectId, before);
    },
  );
});
