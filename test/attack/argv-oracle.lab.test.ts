/** The oracle with a hostile project of each sort; `npm run soak` has all of them. */
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { argvOracle } from "./argv-oracle.ts";
import { hostileStrings } from "./hostile-strings.ts";

describeWithLab("hostile strings through every route", (lab) => {
  // A quote in folders, direction marks, then what branches and paths of a health check may hold.
  const slice = ["zq4z", "zq14z", "zq19z", "zq20z", "zq23z"];
  argvOracle(
    lab,
    hostileStrings.filter(({ mark }) => slice.includes(mark)),
  );
});
