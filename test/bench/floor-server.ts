/** Runs a floor that is a server, in a process of its own as the platform is. It prints its port when it listens. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface FloorServer {
  port: number;
  stop(): Promise<void>;
}

const startMs = 20_000;

export async function startFloorServer(file: string, argument: string): Promise<FloorServer> {
  const path = new URL(file, import.meta.url).pathname;
  const child = spawn(process.execPath, [path], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(argument);
  const timer = setTimeout(() => child.kill(), startMs);
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`${file} did not start.`))),
  ])) as [string];
  clearTimeout(timer);
  return {
    port: Number(line),
    stop: async () => {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}
