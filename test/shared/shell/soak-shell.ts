/**
 * Thousands of commands of every sort over one shell on a real sshd, and what must be as it was afterwards: on the server its sshd
 * processes, sessions and files, here sockets, descriptors, listeners and memory. `ssh.soak.test.ts` runs all of it, the lab's tests a slice.
 * The sorts come in a fixed order that a seed shuffles, so that a run can be repeated.
 */
import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { readdirSync } from "node:fs";
import { connect as openTcp, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { type Shell, ShellFailure, type ShellTarget } from "../../../shared/ports/shell.ts";
import type { LabServer } from "../../lab/server.ts";

export interface Soak {
  commands: number;
  /** Commands at once. */
  width: number;
  seed: number;
}

interface Stage {
  shell: Shell;
  target: ShellTarget;
  /** Where the run's files lie on the server. */
  folder: string;
  /** Given to every command, and never aborted: what stays on it was left there. */
  outer: AbortSignal;
}

const deadlineMs = 60_000;

/** Per hundred. */
const sorts: readonly (readonly [number, (stage: Stage, turn: number) => Promise<void>])[] = [
  [56, shortCommand],
  [14, withInput],
  [8, streamLeftHalfWay],
  [4, streamToItsEnd],
  [4, beyondItsDeadline],
  [3, cancelled],
  [2, tooMuchOutput],
  [6, smallUpload],
  [2, largeUpload],
  [1, uploadLeftHalfWay],
];

/** Answers how many commands of each sort ran; throws at the first that ends other than it should. */
export async function soakShell(server: LabServer, target: ShellTarget, soak: Soak): Promise<number> {
  const folder = `/tmp/soak-${randomBytes(4).toString("hex")}`;
  await server.read(["install", "-d", "-m", "1777", folder]);
  const sockets = new Set<Socket>();
  const openSocket = ({ host, port }: { host: string; port: number }) => {
    const socket = openTcp({ host, port, noDelay: true });
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    return socket;
  };
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  const outer = new AbortController().signal;
  const before = { descriptors: descriptors(), onServer: await onServer(server, folder) };
  const shell = createSsh2Shell({ openSocket });
  const stage = { shell, target, folder, outer };
  try {
    const plan = shuffled(soak);
    const warmUp = Math.floor(plan.length / 5);
    await runAll(stage, plan.slice(0, warmUp), soak.width);
    const heapBefore = await heapAtRest();
    await runAll(stage, plan.slice(warmUp), soak.width);
    await expect.poll(() => shell.counts().channels, { timeout: 30_000 }).toBe(0);
    const grownBytes = (await heapAtRest()) - heapBefore;
    expect(grownBytes, "bytes kept of commands that are over").toBeLessThan(8 * 1024 * 1024);
    expect(shell.counts().connections).toBeLessThanOrEqual(3);
    expect(getEventListeners(outer, "abort")).toEqual([]);
    for (const socket of sockets) expect(listenersOf(socket), "listeners of a socket").toBeLessThan(40);
    expect(warnings).toEqual([]);
    await server.read(["rm", "-rf", folder]);
    return plan.length;
  } finally {
    await shell.close();
    process.off("warning", onWarning);
    expect(sockets.size, "sockets after close").toBe(0);
    expect(shell.counts()).toEqual({ connections: 0, channels: 0 });
    await expect.poll(() => onServer(server, folder), { timeout: 60_000 }).toEqual(before.onServer);
    await expect.poll(descriptors, { timeout: 30_000 }).toBeLessThanOrEqual(before.descriptors + 2);
  }
}

async function shortCommand({ shell, target, outer: signal }: Stage, turn: number): Promise<void> {
  const result = await shell.run(target, { argv: ["echo", `${turn}`], deadlineMs, signal });
  expect([result.code, result.stdout, result.stderr]).toEqual([0, `${turn}\n`, ""]);
}

async function withInput({ shell, target, outer: signal }: Stage, turn: number): Promise<void> {
  const stdin = randomBytes((turn % 50) * 1_000);
  const result = await shell.run(target, { argv: ["cat"], stdin, asRoot: true, deadlineMs, signal });
  expect(stdin.equals(result.stdoutBytes)).toBe(true);
}

async function streamLeftHalfWay(stage: Stage, turn: number): Promise<void> {
  const argv = ["sh", "-c", `echo ${turn}; exec sleep 3600`] as const;
  for await (const chunk of stage.shell.stream(stage.target, { argv, deadlineMs, signal: stage.outer })) {
    expect(Buffer.from(chunk).toString()).toBe(`${turn}\n`);
    break;
  }
}

async function streamToItsEnd({ shell, target, outer: signal }: Stage, turn: number): Promise<void> {
  const stream = shell.stream(target, { argv: ["sh", "-c", "seq 2000; exit 5"], deadlineMs, signal });
  let bytes = 0;
  let step = await stream.next();
  for (; step.done !== true; step = await stream.next()) bytes += step.value.length;
  expect([turn, bytes, step.value.code]).toEqual([turn, 8_893, 5]);
}

/** Short sleeps end before their channel counts as stuck, long ones cost their connection. */
async function beyondItsDeadline({ shell, target, outer: signal }: Stage, turn: number) {
  const seconds = turn % 10 === 0 ? "12" : "1.5";
  await ends("deadline", shell.run(target, { argv: ["sleep", seconds], deadlineMs: 40, signal }));
}

async function cancelled({ shell, target }: Stage): Promise<void> {
  const own = new AbortController();
  const running = shell.run(target, { argv: ["sleep", "1"], deadlineMs, signal: own.signal });
  setImmediate(() => own.abort());
  await ends("aborted", running);
  expect(getEventListeners(own.signal, "abort")).toEqual([]);
}

async function tooMuchOutput({ shell, target, outer: signal }: Stage): Promise<void> {
  const command = { argv: ["seq", "100000"] as const, deadlineMs, maxOutputBytes: 10_000, signal };
  await ends("output_limit", shell.run(target, command));
}

async function smallUpload(stage: Stage, turn: number): Promise<void> {
  await stage.shell.upload(stage.target, uploadOf(stage, turn, randomBytes(2_000)));
}

async function largeUpload(stage: Stage, turn: number): Promise<void> {
  const chunks = async function* () {
    for (let at = 0; at < 8; at++) yield Buffer.alloc(65_536, at);
  };
  await stage.shell.upload(stage.target, uploadOf(stage, turn, { bytes: 8 * 65_536, chunks: chunks() }));
}

async function uploadLeftHalfWay(stage: Stage, turn: number): Promise<void> {
  const own = new AbortController();
  const chunks = async function* () {
    for (let at = 0; ; at++) {
      if (at === 4) own.abort();
      yield Buffer.alloc(65_536);
    }
  };
  const content = { bytes: 100 * 65_536, chunks: chunks() };
  await ends(
    "aborted",
    stage.shell.upload(stage.target, { ...uploadOf(stage, turn, content), signal: own.signal }),
  );
}

function uploadOf<C>({ folder, outer }: Stage, turn: number, content: C) {
  return { path: `${folder}/file-${turn % 20}`, content, mode: 0o600, deadlineMs, signal: outer };
}

async function ends(reason: string, work: Promise<unknown>): Promise<void> {
  const failure = await work.then(
    () => "none",
    (error: unknown) => (error instanceof ShellFailure ? error.reason : error),
  );
  expect(failure).toBe(reason);
}

async function runAll(stage: Stage, plan: readonly Turn[], width: number): Promise<void> {
  const left = [...plan];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await next.run(stage, next.turn);
  };
  const all = await Promise.allSettled(Array.from({ length: width }, work));
  const failed = all.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

interface Turn {
  turn: number;
  run: (stage: Stage, turn: number) => Promise<void>;
}

/** Fisher and Yates with a small generator, so that a failed order can be run again. */
function shuffled({ commands, seed }: Soak): Turn[] {
  const hundred = sorts.flatMap(([share, run]) => Array.from({ length: share }, () => run));
  const plan = Array.from({ length: commands }, (_, turn) => ({
    turn,
    run: hundred[turn % 100] ?? shortCommand,
  }));
  let state = seed;
  for (let at = plan.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (at + 1);
    const [a, b] = [plan[at], plan[other]];
    if (a !== undefined && b !== undefined) [plan[at], plan[other]] = [b, a];
  }
  return plan;
}

/** sshd's processes, sessions of logind, programs of the run (nothing else runs these there), and files that no upload should leave. */
async function onServer(server: LabServer, folder: string): Promise<string> {
  const script = `
grep -hx sshd /proc/[0-9]*/comm 2>/dev/null | wc -l
ls /run/systemd/sessions 2>/dev/null | wc -l
grep -hxE 'sleep|seq|cat' /proc/[0-9]*/comm 2>/dev/null | wc -l
find "$1" -name '*.slipway-*' 2>/dev/null | wc -l`;
  const told = await server.read(["sh", "-c", script, "soak", folder]);
  expect(told, "at least the sshd that listens").toMatch(/^[1-9]/);
  return told;
}

function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

function listenersOf(socket: Socket): number {
  return socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0);
}

/** What is held when nothing runs: JavaScript's heap and the buffers outside of it. */
async function heapAtRest(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
