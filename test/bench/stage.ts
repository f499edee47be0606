/**
 * What rows share, made when the first of them asks for it: the platform in a process of its own, a project that needs
 * no server to be reached, and the two equal servers of the lab, one for the product and one for its floor.
 */
import { rm } from "node:fs/promises";
import { addServer, type Client, createClient, type LinkedProject } from "../demo/main-job.ts";
import {
  makeDataFolder,
  type PlatformProcess,
  removeDataFolder,
  runCli,
  startPlatform,
} from "../demo/platform-process.ts";
import { stopEngineOfThisRun } from "../lab/engine.ts";
import type { LabGitServer } from "../lab/git-server.ts";
import { labAvailability, openLab } from "../lab/lab.ts";
import type { LabServer } from "../lab/server.ts";
import { type FloorSsh, openFloorSsh } from "./floor-ssh.ts";
import { linkQuietProject } from "./quiet-project.ts";

export interface Stage {
  /** Small counts. */
  quick: boolean;
  say(line: string): void;
  platform(): Promise<Platform>;
  /** Linked, on a server that nobody reaches: for what is about requests alone. */
  quietProject(): Promise<LinkedProject>;
  servers(): Promise<Servers>;
  /** Runs at the end, the last one first. */
  onClose(work: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export interface Platform {
  process: PlatformProcess;
  client: Client;
  token: string;
}

export interface Servers {
  git: LabGitServer;
  /** The product's. */
  ours: LabServer;
  serverId: string;
  /** The floor's: as the product's, with the same proxy, but used over OpenSSH by shell scripts. */
  floor: LabServer;
  ssh: FloorSsh;
}

/**
 * Limits of the product are no part of what is measured: many sources through a trusted proxy, a high API limit, and
 * receivers of notifications on this machine.
 */
const environment = {
  SLIPWAY_API_LIMIT: "10000000",
  SLIPWAY_TRUSTED_PROXIES: "127.0.0.1",
  SLIPWAY_ALLOW_PRIVATE_TARGETS: "127.0.0.1",
};

export function openStage({ quick, say }: Pick<Stage, "quick" | "say">): Stage {
  const closing: (() => Promise<unknown>)[] = [];
  const stage: Stage = {
    quick,
    say,
    platform: once(() => openPlatform(stage)),
    quietProject: once(async () => linkQuietProject((await stage.platform()).client)),
    servers: once(() => openServers(stage)),
    onClose: (work) => void closing.push(work),
    close: async () => {
      for (const work of closing.splice(0).reverse()) await work();
    },
  };
  return stage;
}

async function openPlatform(stage: Stage): Promise<Platform> {
  const dataFolder = await makeDataFolder();
  stage.onClose(() => removeDataFolder(dataFolder));
  const process = await startPlatform({ dataFolder, environment });
  stage.onClose(() => process.stop());
  const { token } = await runCli<{ token: string }>(
    ["init", "--org", "Bench", "--email", "bench@example.com", "--password-stdin"],
    { dataFolder, stdin: "correct horse battery staple\n" },
  );
  return { process, token, client: createClient({ baseUrl: process.url, token }) };
}

async function openServers(stage: Stage): Promise<Servers> {
  const available = await labAvailability(stage.say);
  if (!available.available) throw new Error(`This row needs a container engine: ${available.reason}.`);
  const { client } = await stage.platform();
  const lab = await openLab({ say: stage.say });
  stage.onClose(stopEngineOfThisRun);
  stage.onClose(() => lab.close());
  const [git, ours, floor] = await Promise.all([
    lab.git(),
    lab.server({ name: "ours" }),
    lab.server({ name: "floor" }),
  ]);
  const ssh = await openFloorSsh(floor);
  stage.onClose(async () => {
    await ssh.close();
    await rm(ssh.folder, { recursive: true, force: true });
  });
  const serverId = await addServer(client, ours);
  // Gets the proxy as the product sets it up; the platform never uses it again.
  await addServer(client, floor);
  return { git, ours, serverId, floor, ssh };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
