/**
 * How the lab talks to the host's container engine: the docker CLI as an array of arguments, with a deadline on every
 * call. This is the oracle of the tests: it reaches a lab server by `docker exec`, independent of the product's own SSH.
 * Rejected: the engine's HTTP API (a second client to keep), and a shell between us and docker.
 */
import { spawn } from "node:child_process";
import { finished } from "node:stream/promises";

export interface DockerOptions {
  /** Sent to docker's stdin, then closed. */
  input?: string | Uint8Array;
  /** Wall time until the client is killed. Default 60 s. */
  deadlineMs?: number;
  env?: Readonly<Record<string, string>>;
}

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

const defaultDeadlineMs = 60_000;

/** Runs docker and throws with its own words when it fails; answers stdout without the last line break. */
export async function docker(args: readonly string[], options: DockerOptions = {}): Promise<string> {
  const result = await tryDocker(args, options);
  if (result.code !== 0) throw new Error(describeFailure("docker", args, result));
  return result.stdout.trimEnd();
}

/** Runs docker to its end, whatever exit status it has. */
export function tryDocker(args: readonly string[], options: DockerOptions = {}): Promise<CommandResult> {
  return runCommand("docker", args, options);
}

/** Any program of this machine, by arguments. A program that is not installed answers 127, as a shell would. */
export function runCommand(
  program: string,
  args: readonly string[],
  options: DockerOptions = {},
): Promise<CommandResult> {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...options.env }, stdio: "pipe" });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${program} ${args.slice(0, 3).join(" ")} took longer than ${deadlineMs} ms.`));
    }, deadlineMs);
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    // A command may end without reading its input; that is its right, and its exit status tells the story.
    child.stdin.on("error", () => child.stdin.destroy());
    child.stdin.end(options.input);
    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === "ENOENT") resolve({ code: 127, stdout: "", stderr: `${program}: not found` });
      else reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 137, stdout: text(out), stderr: text(err) });
    });
  });
}

/** `from | to`, without holding the bytes in memory (an image is hundreds of MB). */
export async function pipeCommands(
  from: readonly [string, ...string[]],
  to: readonly [string, ...string[]],
  deadlineMs: number,
): Promise<string> {
  const source = spawn(from[0], from.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  const target = spawn(to[0], to.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  const timer = setTimeout(() => {
    source.kill("SIGKILL");
    target.kill("SIGKILL");
  }, deadlineMs);
  const out: Buffer[] = [];
  target.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  target.stdin.on("error", () => source.kill("SIGKILL"));
  source.stdout.pipe(target.stdin);
  try {
    const codes = await Promise.all([exitCode(source), exitCode(target), finished(target.stdout)]);
    if (codes[0] !== 0 || codes[1] !== 0) {
      throw new Error(`${from.join(" ")} | ${to.join(" ")} ended with ${codes[0]} and ${codes[1]}.`);
    }
    return text(out).trimEnd();
  } finally {
    clearTimeout(timer);
  }
}

export function describeFailure(program: string, args: readonly string[], result: CommandResult): string {
  const said = (result.stderr.trim() || result.stdout.trim()).slice(-2_000);
  return `${program} ${args.join(" ")} ended with ${result.code}: ${said}`;
}

function exitCode(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 137));
  });
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
