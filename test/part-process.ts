/** A part of the platform in a process of its own, as a container runs it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Part } from "../shared/domain/module-secrets.ts";
import { findFreePort } from "./lab/free-port.ts";

const root = new URL("..", import.meta.url).pathname;
const readyMs = 60_000;

export interface PartProcess {
  url: string;
  /** What it printed. */
  output(): string;
  /** SIGTERM, then its end. */
  stop(): Promise<void>;
  /** SIGKILL, as a crash does it. */
  kill(): Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Runs to the end; answers the exit code with what was printed. */
export async function runPart(argv: readonly string[], environment: Environment) {
  const { child, output } = launch(argv, environment);
  const [code] = (await once(child, "close")) as [number];
  return { code, output: output() };
}

export async function startPart(part: Part, environment: Environment): Promise<PartProcess> {
  const port = await findFreePort();
  const { child, output } = launch([part], { HOST: "127.0.0.1", ...environment, PORT: String(port) });
  const url = `http://127.0.0.1:${port}`;
  const path = part === "edge" ? "/api/system/ready" : "/health";
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  const endMs = Date.now() + readyMs;
  while (!(await fetch(url + path).catch(() => null))?.ok) {
    if (child.exitCode !== null || Date.now() > endMs) {
      await end("SIGKILL");
      throw new Error(`The part ${part} did not start:\n${output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, output, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

function launch(argv: readonly string[], environment: Environment) {
  const clean = Object.entries(process.env).filter(([name]) => !/^(SLIPWAY_|DATABASE_URL$|PORT$)/.test(name));
  const child = spawn(process.execPath, ["functions/container.ts", ...argv], {
    cwd: root,
    env: { ...Object.fromEntries(clean), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-1_000_000);
    });
  }
  return { child, output: () => output };
}
