/** The order of files: the few that take over a minute begin first, so that none of them runs on alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const long = ["faults/faults.lab", "attack/argv-oracle.lab", "demo/cloud.lab", "chaos/cloud"];

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      long.some((name) => moduleId.includes(`/${name}.test.`));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
