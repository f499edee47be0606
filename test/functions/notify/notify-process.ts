/** Notifications in a process of their own, to be killed: database and sealing key come as arguments. */
import { createMemoryLimiter } from "../../../edge/adapters/memory-limiter.ts";
import { createNotifications } from "../../../functions/notify/compose.ts";
import { wallClock } from "../../../shared/adapters/clocks.ts";
import { openDatabase } from "../../../shared/adapters/postgres.ts";
import { openListener } from "../../../shared/adapters/postgres-listen.ts";
import { createSealer } from "../../../shared/crypto/seal.ts";
import { refuseUnsigned } from "../../../shared/http/identity-header.ts";
import { loopbackOutgoing } from "../../outgoing.ts";
import { silentLog } from "../../silent-log.ts";

const [url = "", key = ""] = process.argv.slice(2);
const { db } = openDatabase({ url, log: silentLog, max: 3 });
createNotifications({
  ...{ db, clock: wallClock, log: silentLog, smtp: undefined, baseUrl: "http://slipway.test" },
  listener: openListener({ url, log: silentLog }),
  limiter: createMemoryLimiter(),
  sealer: createSealer({ notify: [{ kid: "t", key }] }),
  outgoing: loopbackOutgoing(),
  verifyIdentity: refuseUnsigned,
  stopping: new AbortController().signal,
}).start(false);
