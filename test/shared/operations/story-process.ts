/** A platform in miniature, to be killed: runs the file kind on a database until somebody ends it. */
import { monotonicClock } from "../../../shared/adapters/clocks.ts";
import { openDatabase } from "../../../shared/adapters/postgres.ts";
import { openListener } from "../../../shared/adapters/postgres-listen.ts";
import { createRunner } from "../../../shared/operations/runner.ts";
import { silentLog } from "../../silent-log.ts";
import { fileKind } from "./file-kind.ts";

const [url = "", path = ""] = process.argv.slice(2);
const { db } = openDatabase({ url, log: silentLog, max: 3 });
const onEnd = (error: unknown) => process.stdout.write(`${error instanceof Error ? error.name : "?"}\n`);
const kind = fileKind({ clock: monotonicClock, path, pauseMs: 1, pieceBytes: 100, onEnd });
const listener = openListener({ url, log: silentLog });
createRunner({
  db,
  listener,
  kinds: [kind],
  owner: "child",
  concurrency: 1,
  clock: monotonicClock,
  log: silentLog,
}).start();
