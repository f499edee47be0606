/** Runs the real CLI as a process of its own, without a terminal, in a home of its own. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Home {
  /** `$XDG_CONFIG_HOME` of its commands. */
  path: string;
  environment: Record<string, string>;
  run(argv: readonly string[], options?: RunOptions): Promise<Ended>;
  close(): Promise<void>;
}

export interface RunOptions {
  stdin?: string;
  environment?: Record<string, string>;
  /** Default 25 s. */
  deadlineMs?: number;
  /** Ctrl-C as soon as stdout holds this. */
  interruptAt?: string;
}

const entry = join(import.meta.dirname, "../../cli/slipway.ts");
const compiled = join(import.meta.dirname, "../../node_modules/.cache/slipway");
const defaultDeadlineMs = 25_000;

export async function openHome(environment: Record<string, string> = {}): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), "slipway-cli-"));
  const own = {
    PATH: process.env["PATH"] ?? "",
    HOME: path,
    XDG_CONFIG_HOME: path,
    // Most of what a command takes is compiling it, and tests run hundreds.
    NODE_COMPILE_CACHE: compiled,
    ...environment,
  };
  return {
    path,
    environment: own,
    run: (argv, options = {}) => run(argv, own, options),
    close: () => rm(path, { recursive: true, force: true }),
  };
}

function run(argv: readonly string[], home: Record<string, string>, options: RunOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const env = { ...home, ...options.environment };
    const child = spawn(process.execPath, [entry, ...argv], {
      env,
      timeout: options.deadlineMs ?? defaultDeadlineMs,
      killSignal: "SIGKILL",
    });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      ended.stdout += text;
      if (options.interruptAt !== undefined && ended.stdout.includes(options.interruptAt))
        child.kill("SIGINT");
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      ended.stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...ended, code }));
    // A command that reads no stdin may be gone before it is written.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.stdin ?? "");
  });
}
