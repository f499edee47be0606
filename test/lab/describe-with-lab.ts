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
  /** Shared by all files: use project and file names of your own, leave it running and connected. */
  server: LabServer;
  /** Shared as well: use an owner or repository of your own, leave it running. */
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
  const lab = attachLab(answer.lab);
  const shared = {
    server: attachServer(answer.server),
    git: attachGitServer(answer.lab.git),
    startServer: lab.server,
    startMail: lab.mail,
  };
  describe(title, () => tests(shared));
}
