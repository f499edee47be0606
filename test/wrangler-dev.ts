/** A worker as its developers run it: `wrangler dev`, which is Cloudflare's own runtime on this machine, in a process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "./lab/free-port.ts";

const root = new URL("..", import.meta.url).pathname;
const readyMs = 60_000;

export interface WranglerDev {
  url: string;
  /** What it printed. */
  output(): string;
  stop(): Promise<void>;
  /** SIGKILL to it and to the runtime that it started, as a crash does it. */
  kill(): Promise<void>;
}

export interface WranglerDevOptions {
  /** Default: what the configuration says. */
  script?: string;
  variables?: Readonly<Record<string, string>>;
  port?: number;
}

export async function startWranglerDev(options: WranglerDevOptions = {}): Promise<WranglerDev> {
  const port = options.port ?? (await findFreePort());
  const state = await mkdtemp(join(tmpdir(), "slipway-wrangler-"));
  const variables = Object.entries(options.variables ?? {}).flatMap(([name, value]) => [
    "--var",
    `${name}:${value}`,
  ]);
  const child = spawn(
    process.execPath,
    [
      "node_modules/wrangler/bin/wrangler.js",
      "dev",
      ...(options.script === undefined ? [] : [options.script]),
      ...["-c", "edge/wrangler.jsonc", "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"],
      ...["--show-interactive-dev-session=false", "--persist-to", state, "--local", ...variables],
    ],
    {
      cwd: root,
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-1_000_000);
    });
  }
  const url = `http://127.0.0.1:${port}`;
  const end = async (strike: () => unknown) => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      await strike();
      await exited;
    }
    await rm(state, { recursive: true, force: true });
  };
  const stop = () => end(() => child.kill("SIGTERM"));
  const kill = () =>
    end(async () => {
      for (const pid of await withDescendants(child.pid ?? 0)) process.kill(pid, "SIGKILL");
    });
  const endMs = Date.now() + readyMs;
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > endMs) {
      await stop();
      throw new Error(`wrangler dev did not start:\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, output: () => output, stop, kill };
}

/** The process before those that it started. */
async function withDescendants(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const below = await Promise.all(children.split(" ").filter(Boolean).map(Number).map(withDescendants));
  return [pid, ...below.flat()];
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/system/health`, { signal: AbortSignal.timeout(5_000) }).catch(
    () => null,
  );
  await answer?.body?.cancel();
  return answer !== null;
}
