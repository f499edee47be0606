/**
 * The lab: managed servers and a git host on this machine's container engine. The one entry for tests, the demo and the
 * bench. A run has an id, one network and one SSH key; all it made goes with `close()`, and what a killed run left is
 * removed by the next one.
 */
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { removeLeftOvers, removeRun } from "./clean.ts";
import { ensureEngine } from "./engine.ts";
import {
  attachGitServer,
  type GitServerDescription,
  type LabGitServer,
  startGitServer,
} from "./git-server.ts";
import { ensureStore } from "./image-store.ts";
import { ensureImages, type LabImages, type ProductImage, timed, whyNoImages } from "./images.ts";
import { generateKeyPair, type KeyPair } from "./key-pair.ts";
import { ownerOfThisProcess, runLabels } from "./labels.ts";
import { type MailPeer, startMailPeer } from "./mail-peer.ts";
import { createNetwork } from "./network.ts";
import { type LabServer, startServer } from "./server.ts";

export interface ServerOptions {
  /** Unique in the run; default a random one. */
  name?: string;
  /** `bare` is Debian with sshd alone; `docker` (default) has engine, git, curl and Caddy installed by apt already. */
  kind?: "bare" | "docker";
  /** Product images its engine knows; default all of them. */
  images?: readonly ProductImage[];
}

export interface Lab {
  runId: string;
  /** Boots a managed server: about six seconds. */
  server(options?: ServerOptions): Promise<LabServer>;
  /** The git host of the run; the first call starts it. */
  git(): Promise<LabGitServer>;
  /** Postfix, and a name server that answers these names. */
  mail(names: Readonly<Record<string, string>>): Promise<MailPeer>;
  /** For another process of the same run; see `attachLab`. */
  describe(): Promise<LabDescription>;
  /** Removes all that the run made. */
  close(): Promise<void>;
}

/** A lab as plain data. */
export interface LabDescription {
  runId: string;
  owner: string;
  key: KeyPair;
  images: LabImages;
  git: GitServerDescription;
}

export interface OpenLab {
  /** Progress for a person, one line at a time. */
  say?: (line: string) => void;
  /** Default: this process. A lab with another owner outlives it. */
  owner?: string;
}

const allProductImages: readonly ProductImage[] = [
  "debian:bookworm-slim",
  "node:24-bookworm-slim",
  "caddy:2",
];

const lockWaitMs = 15 * 60_000;

export type LabAvailability = { available: true } | { available: false; reason: string };

/** Whether this machine can have a lab. With `CI=true` a missing one is an error: a gate must not pass by skipping. */
export async function labAvailability(say?: (line: string) => void): Promise<LabAvailability> {
  const engine = await ensureEngine(say);
  const reason = engine.usable ? await whyNoImages() : engine.reason;
  if (reason === undefined) return { available: true };
  if (process.env["CI"] === "true") throw new Error(`The lab is not available: ${reason}.`);
  return { available: false, reason };
}

/** Engine, images and network; throws when the machine cannot have a lab. Minutes at the first time, then seconds. */
export async function openLab(options: OpenLab = {}): Promise<Lab> {
  const say = options.say ?? (() => undefined);
  const answer = await labAvailability(say);
  if (!answer.available) throw new Error(`The lab is not available: ${answer.reason}.`);
  await removeLeftOvers();
  const images = await withLock(async () => {
    const found = await ensureImages(say);
    await ensureStore(found, allProductImages, say);
    return found;
  });
  const runId = `lab-${randomBytes(3).toString("hex")}`;
  const owner = options.owner ?? ownerOfThisProcess();
  await createNetwork(runId, runLabels(runId, owner));
  return makeLab({ runId, owner, key: generateKeyPair(), images }, undefined, say);
}

/** The lab that another process of this machine has opened. Closing it is the opener's business. */
export function attachLab(description: LabDescription): Lab {
  const lab = makeLab(description, attachGitServer(description.git), () => undefined);
  return { ...lab, close: async () => undefined };
}

function makeLab(
  run: Omit<LabDescription, "git">,
  startedGit: LabGitServer | undefined,
  say: (line: string) => void,
): Lab {
  const { runId, owner, images, key } = run;
  const labels = runLabels(runId, owner);
  let git = startedGit === undefined ? undefined : Promise.resolve(startedGit);
  const openGit = () => {
    const name = `${runId}-git`;
    const start = () =>
      startGitServer({ name, alias: `git.${runId}`, network: runId, image: images.gitServer, labels });
    git ??= timed("git server", say, start);
    return git;
  };
  return {
    runId,
    server: async (options = {}) => {
      const name = `${runId}-${options.name ?? randomBytes(3).toString("hex")}`;
      const wanted = options.images ?? allProductImages;
      const store = wanted.length === 0 ? undefined : await withLock(() => ensureStore(images, wanted, say));
      const fill = store === undefined ? {} : { store };
      const start = { name, kind: options.kind ?? "docker", labels, network: runId, key, images, ...fill };
      return timed(`server ${name}`, say, () => startServer(start));
    },
    git: openGit,
    mail: (names) => {
      const name = `${runId}-mail-${randomBytes(3).toString("hex")}`;
      return startMailPeer({ name, image: images.mailPeer, network: runId, labels, names });
    },
    describe: async () => {
      const { name, alias, localPort, token } = await openGit();
      return { ...run, git: { name, alias, localPort, token } };
    },
    close: () => removeRun(runId),
  };
}

/** Images and prepared volumes are shared by all runs of the machine; one of them builds, the others wait. */
async function withLock<T>(work: () => Promise<T>): Promise<T> {
  const guard = await openDataFolder(join(tmpdir(), "slipway-lab"), { purpose: "tool", waitMs: lockWaitMs });
  try {
    return await work();
  } finally {
    guard.release();
  }
}
