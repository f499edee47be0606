/** What the notify module is made of; the composition root brings it. */
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import type { ChannelKind } from "../../shared/domain/notification.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import type { Limiter } from "../../shared/ports/limiter.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { Send } from "./channels/outcome.ts";

export type SentKind = Exclude<ChannelKind, "in_app">;

export interface NotifyParts {
  db: Database;
  /** Holds the ring `notify`. */
  sealer: Sealer;
  log: Log;
  clock: Clock;
  /** Counts tests of channels by person. */
  limiter: Limiter;
  /** Without a slash at the end: links in messages are made from it. */
  baseUrl: string;
  senders: Record<SentKind, Send>;
}
