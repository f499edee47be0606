/** What every module of the platform is given by whoever puts it together: one process, or a container of its own. */
import type { Database, Listener } from "../shared/db/database.ts";
import type { ModuleApp, ModuleAppOptions } from "../shared/http/module-app.ts";
import type { AnyOperationKind } from "../shared/operations/definition.ts";
import type { Feed } from "../shared/operations/follow.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Shell } from "../shared/ports/shell.ts";
import type { Configuration } from "./configuration.ts";
import type { Outside } from "./outside.ts";

export interface PartContext {
  configuration: Configuration;
  db: Database;
  listener: Listener;
  feed: Feed;
  shell: Shell;
  outside: Outside;
  log: Log;
  verifyIdentity: ModuleAppOptions["verifyIdentity"];
  /** Ends open streams. */
  stopping: AbortSignal;
}

export interface AssembledPart {
  app: ModuleApp;
  /** What its runner runs. */
  kinds: AnyOperationKind[];
  sweeps: Sweep[];
  /** Work of its own, beside operations. `alone`: no other process works on this database. */
  start?(alone: boolean): void;
  stop?(): Promise<void>;
}

export interface Sweep {
  everyMs: number;
  /** Also at the start: whoever was here before may have left something over. */
  atOnce?: boolean;
  run: () => Promise<unknown>;
}
