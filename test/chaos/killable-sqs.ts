/** Starts the queue of the cloud (sqs-process.ts) at one place, and kills it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { findFreePort } from "../lab/free-port.ts";

export interface KillableSqs {
  url: string;
  deadUrl: string;
  /** Dies with all its messages, and comes back empty at the same place. */
  killAndStart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startKillableSqs(): Promise<KillableSqs> {
  const port = await findFreePort();
  let running = await start(port);
  const stop = async () => {
    const exited = once(running.child, "exit");
    running.child.kill("SIGKILL");
    await exited;
  };
  return {
    ...running.urls,
    stop,
    killAndStart: async () => {
      await stop();
      running = await start(port);
    },
  };
}

async function start(port: number) {
  const path = new URL("./sqs-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [path], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => child.stdin.destroy());
  child.stdin.write(`${port}\n`);
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error("The queue did not start."))),
  ])) as [string];
  return { child, urls: JSON.parse(line) as { url: string; deadUrl: string } };
}
