/** Starts controllers (controller-process.ts) and does to them what the world does to processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LeaseTimes } from "../../shared/operations/lease-times.ts";
import { findFreePort } from "../lab/free-port.ts";
import type { ControllerInput } from "./controller-process.ts";

export interface Controller {
  url: string;
  pid: number;
  /** Its log so far: JSON lines. */
  log(): string;
  alive(): boolean;
  kill(): Promise<void>;
  /** SIGTERM; answers the exit status. */
  stop(): Promise<number | null>;
  freeze(): void;
  thaw(): void;
}

export interface StartController {
  databaseUrl: string;
  dataFolder: string;
  lease: LeaseTimes | null;
}

const readyMs = 60_000;
const stopMs = 45_000;
let count = 0;

export async function startController(options: StartController): Promise<Controller> {
  const port = await findFreePort();
  const logFile = join(options.dataFolder, `controller-${process.pid}-${++count}.log`);
  const file = openSync(logFile, "a", 0o600);
  const child = spawn(process.execPath, [new URL("./controller-process.ts", import.meta.url).pathname], {
    stdio: ["pipe", file, file],
  });
  closeSync(file);
  child.stdin?.on("error", () => child.stdin?.destroy());
  child.stdin?.write(`${JSON.stringify({ ...options, port } satisfies ControllerInput)}\n`);
  const log = () => readFileSync(logFile, "utf8");
  const url = `http://127.0.0.1:${port}`;
  const alive = () => child.exitCode === null && child.signalCode === null;
  await untilReady(child, `${url}/api/system/ready`, log);
  return {
    url,
    pid: child.pid ?? 0,
    log,
    alive,
    kill: async () => void (await end(child, "SIGKILL")),
    stop: () => end(child, "SIGTERM"),
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
  };
}

async function untilReady(child: ChildProcess, url: string, log: () => string): Promise<void> {
  for (const endMs = Date.now() + readyMs; Date.now() < endMs; ) {
    if (child.exitCode !== null) throw new Error(`A controller ended at its start:\n${log()}`);
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill("SIGKILL");
  throw new Error(`A controller was not ready within ${readyMs / 1_000} s:\n${log()}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, "exit");
  child.kill("SIGCONT");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exited;
  clearTimeout(timer);
  return child.exitCode;
}
