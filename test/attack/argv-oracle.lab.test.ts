/** The oracle with a hostile project of each sort; `npm run soak` has all of them. */
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { argvOracle } from "./argv-oracle.ts";
import { hostileStrings } from "./hostile-strings.ts";

describeWithLab("hostile strings through every route", (lab) => {
  // Direction marks, then what branches and what paths of a health check may hold.
  const slice = ["zq14z", "zq20z", "zq23z"];
  const inProjects = hostileStrings.filter(({ mark }) => slice.includes(mark));
  argvOracle(lab, { inProjects, usedOfEach: 4 });
});
