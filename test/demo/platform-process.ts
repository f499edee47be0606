/**
 * The platform as a user starts it: `functions/local.ts` in a process of its own, on a data folder of its own. Tests can
 * kill it and start it again on the same folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { findFreePort } from "../lab/free-port.ts";

const root = new URL("../..", import.meta.url).pathname;
const readyMs = 60_000;
const stopMs = 40_000;

export interface PlatformProcess {
  url: string;
  dataFolder: string;
  pid: number;
  /** Milliseconds from the start of the process to its first ready answer. */
  readyMs: number;
  /** What it printed, for a failing test. */
  output(): string;
  /** SIGTERM, then the end of the process and its database. */
  stop(): Promise<void>;
  /** SIGKILL: as a crash does it. The database goes on and is adopted by the next start. */
  kill(): Promise<void>;
}

export interface StartPlatform {
  dataFolder?: string;
  port?: number;
  environment?: Record<string, string>;
}

/** A data folder that the database may reach also when the platform runs as root. */
export function makeDataFolder(): Promise<string> {
  return mkdtemp(join(process.getuid?.() === 0 ? "/var/lib" : "/tmp", "slipway-demo-"));
}

export async function startPlatform(options: StartPlatform = {}): Promise<PlatformProcess> {
  const dataFolder = options.dataFolder ?? (await makeDataFolder());
  const port = options.port ?? (await findFreePort());
  const logFile = join(dataFolder, "platform.log");
  const log = openSync(logFile, "a", 0o600);
  const started = performance.now();
  const child = spawn(process.execPath, ["functions/local.ts"], {
    cwd: root,
    env: { ...process.env, ...options.environment, PORT: String(port), SLIPWAY_DATA_DIR: dataFolder },
    // A file and a session of its own: it may outlive who started it, and ctrl-C in a terminal is not for it.
    stdio: ["ignore", log, log],
    detached: true,
  });
  closeSync(log);
  child.unref();
  const output = () => readFileSync(logFile, "utf8");
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, url, output);
  return {
    url,
    dataFolder,
    pid: child.pid ?? 0,
    readyMs: performance.now() - started,
    output,
    stop: () => end(child, "SIGTERM"),
    kill: () => end(child, "SIGKILL"),
  };
}

async function untilReady(child: ChildProcess, url: string, output: () => string): Promise<void> {
  const endMs = Date.now() + readyMs;
  while (Date.now() < endMs) {
    if (child.exitCode !== null) throw new Error(`The platform ended at its start:\n${output()}`);
    const answer = await fetch(`${url}/api/system/ready`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill("SIGKILL");
  throw new Error(`The platform was not ready within ${readyMs / 1000} s:\n${output()}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exited;
  clearTimeout(timer);
}

export interface RunCli {
  dataFolder: string;
  stdin?: string;
}

/** Runs `slipway …` and answers what it printed as JSON; throws with its error otherwise. */
export async function runCli<T>(argv: readonly string[], { dataFolder, stdin = "" }: RunCli): Promise<T> {
  const child = spawn(process.execPath, ["cli/slipway.ts", ...argv, "--json"], {
    cwd: root,
    env: { ...process.env, SLIPWAY_DATA_DIR: dataFolder },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const printed: string[] = [];
  const errors: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  child.stdin.end(stdin);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`slipway ${argv.join(" ")} ended with ${code}: ${errors.join("")}`);
  return JSON.parse(printed.join("")) as T;
}

/** Removes the data folder of a stopped platform. */
export function removeDataFolder(dataFolder: string): Promise<void> {
  return rm(dataFolder, { recursive: true, force: true });
}
