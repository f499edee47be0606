/** Every fault in every phase. After each case the server holds nothing but the version that serves. */
import { afterAll, beforeAll, it } from "vitest";
import { faults, wholeMatrix } from "../faults/matrix.ts";
import { judgeRest } from "../faults/rest.ts";
import { runCase } from "../faults/run-case.ts";
import { type FaultStage, openFaultStage } from "../faults/stage.ts";
import { openSubject, type Subject } from "../faults/subject.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";

describeWithLab("a deployment, in every phase, whatever happens to it", (lab) => {
  let stage: FaultStage;
  let subject: Subject;
  beforeAll(async () => {
    stage = await openFaultStage(lab);
    subject = await openSubject(stage);
  });
  afterAll(() => stage?.close());

  it.each(wholeMatrix.map((each) => ({ ...each, what: faults[each.fault].title })))(
    "$phase: $what",
    async ({ fault, phase }) => {
      await runCase(stage, fault, [{ phase, subject }]);
      await judgeRest(stage, [subject]);
    },
  );
});
