/**
 * The matrix as data: in which phases a deployment can be met, what can happen to it there, and how it must end. A case
 * is a pair; which pairs `npm test` runs stands in faults.lab.test.ts, all of them run in `npm run soak`.
 */
import type { HoldPoint } from "./holds.ts";

export const phaseNames = ["queued", "fetch", "build", "release", "health", "switch"] as const;
export type PhaseName = (typeof phaseNames)[number];

export interface Phase {
  /** Where the server is slow, so that the fault meets the phase. `queued` waits behind one that is held there. */
  hold: HoldPoint | null;
  /** How the log says that the phase has been reached, where no hold does. */
  line?: RegExp;
  phase?: string;
}

export const phases: Record<PhaseName, Phase> = {
  queued: { hold: "git fetch" },
  fetch: { hold: "git fetch" },
  build: { hold: null, line: /line-8$/ },
  release: { hold: "container start" },
  health: { hold: null, phase: "health" },
  switch: { hold: "proxy switch" },
};

export interface Ending {
  status: "ready" | "failed" | "cancelled";
  /** Of its error. */
  code?: string;
}

export interface Fault {
  title: string;
  /** A short one where the next owner must wait for its end. */
  lease: "short" | "default";
  /** In the other phases it ends `ready`: what happened was none of its business. */
  endings: Partial<Record<PhaseName, Ending>>;
}

const goesOn: Fault["endings"] = {};
const cancelled: Ending = { status: "cancelled", code: "cancelled" };
const restarted: Ending = { status: "failed", code: "server_restarted" };

export const faults = {
  kill: { title: "the controller is killed with -9", lease: "short", endings: goesOn },
  stop: { title: "the controller is stopped in order", lease: "default", endings: goesOn },
  freeze: { title: "the controller is frozen past its lease, and thaws", lease: "short", endings: goesOn },
  two: { title: "two controllers are up from the beginning", lease: "short", endings: goesOn },
  cut: { title: "the connection to the server is cut", lease: "default", endings: goesOn },
  sshd: { title: "sshd is restarted and its sessions end", lease: "default", endings: goesOn },
  database: { title: "the database is ended hard and starts again", lease: "default", endings: goesOn },
  reboot: {
    title: "the server restarts",
    lease: "default",
    endings: { fetch: restarted, build: restarted },
  },
  cancel: {
    title: "a person cancels",
    lease: "default",
    // Past the point of no return the proxy may have switched already: refused.
    endings: {
      queued: cancelled,
      fetch: cancelled,
      build: cancelled,
      release: cancelled,
      health: cancelled,
    },
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as FaultName[];

export interface Case {
  fault: FaultName;
  phase: PhaseName;
}

export function endingOf({ fault, phase }: Case): Ending {
  const { endings }: Fault = faults[fault];
  return endings[phase] ?? { status: "ready" };
}

export const wholeMatrix: readonly Case[] = faultNames.flatMap((fault) =>
  phaseNames.map((phase) => ({ fault, phase })),
);
