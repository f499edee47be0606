/** The oracle with a project for every hostile string that some field of a project takes. */
import { argvOracle } from "../attack/argv-oracle.ts";
import { hostileStrings } from "../attack/hostile-strings.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";

describeWithLab("every hostile string through every route", (lab) => {
  const refusedEverywhere = (text: string) => /^-|[\n\r\0\\]|\.\.\//.test(text) || text.length > 2_000;
  const inProjects = hostileStrings.filter(({ text }) => !refusedEverywhere(text));
  argvOracle(lab, { inProjects, usedOfEach: Number.POSITIVE_INFINITY });
});
