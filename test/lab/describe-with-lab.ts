/**
 * How a test file gets at the lab of its run. The block is skipped when this machine cannot have one; the set-up has
 * said why, and has failed already where `CI=true`.
 */
import { describe, inject } from "vitest";
import "./global-set-up.ts";
import type { LabGitServer } from "./git-server.ts";
import { attachGitServer } from "./git-server.ts";
import { attachLab, type Lab } from "./lab.ts";
import { attachServer, type LabServer } from "./server.ts";

export interface SharedLab {
  /** Of one file at a time: use project and file names of your own, leave it running and connected. */
  server: LabServer;
  /** Shared by all files: use an owner or repository of your own, leave it running. */
  git: LabGitServer;
  /** A server of your own, for tests that stop, cut or fill it. Remove it when done; the run's end does it otherwise. */
  startServer: Lab["server"];
  /** A mail server and a name server of your own. */
  startMail: Lab["mail"];
}

export function describeWithLab(title: string, tests: (lab: SharedLab) => void): void {
  const answer = inject("lab");
  if (!answer.available) {
    describe.skip(title, () => undefined);
    return;
  }
  // From 1 on, and no two files that run at once have the same.
  const server = answer.servers[Number(process.env["VITEST_POOL_ID"]) - 1];
  if (server === undefined) throw new Error("no lab server was started for this worker");
  const lab = attachLab(answer.lab);
  const shared = {
    server: attachServer(server),
    git: attachGitServer(answer.lab.git),
    startServer: lab.server,
    startMail: lab.mail,
  };
  describe(title, () => tests(shared));
}
