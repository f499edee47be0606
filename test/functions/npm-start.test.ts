/** `npm start` as people and service managers end it: npm stands in front, and signals go to it or to the whole group. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDataFolder, removeDataFolder } from "../demo/platform-process.ts";
import { findFreePort } from "../lab/free-port.ts";

let dataFolder: string;
let npm: ChildProcess;
let printed: string;

beforeEach(async () => {
  dataFolder = await makeDataFolder();
  printed = "";
  npm = spawn("npm", ["start"], {
    cwd: new URL("../..", import.meta.url).pathname,
    env: { ...process.env, PORT: String(await findFreePort()), SLIPWAY_DATA_DIR: dataFolder },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  for (const stream of [npm.stdout, npm.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  }
});

afterEach(async () => {
  for (const pid of await processesOf(dataFolder)) process.kill(pid, "SIGKILL");
  await removeDataFolder(dataFolder);
});

const ready = () => expect.poll(() => printed, { timeout: 25_000 }).toContain("is ready in");

test("SIGTERM to npm ends the platform: when npm returns, platform and database are gone", async () => {
  await ready();
  const ended = once(npm, "exit");
  npm.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(await processesOf(dataFolder)).toEqual([]);
});

test("ctrl-C, which the terminal tells to all and npm tells once more, is one request and ends it in order", async () => {
  await ready();
  const ended = once(npm, "exit");
  process.kill(-(npm.pid ?? 0), "SIGINT");
  await ended;
  expect(printed.match(/Stopping/g)).toHaveLength(1);
  expect(await processesOf(dataFolder)).toEqual([]);
});

/** The platform, by its environment, and its database, by where it works. */
async function processesOf(folder: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const isOurs = async (pid: string) => {
    const place = await readlink(join("/proc", pid, "cwd")).catch(() => "");
    const environment = await readFile(join("/proc", pid, "environ"), "utf8").catch(() => "");
    return place.startsWith(`${folder}/`) || environment.includes(`SLIPWAY_DATA_DIR=${folder}`);
  };
  const ours = await Promise.all(pids.map(isOurs));
  return pids.filter((_, index) => ours[index]).map(Number);
}
