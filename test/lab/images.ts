/**
 * Which images the lab has, and building the missing ones. An image's tag is a hash of its recipe, of its parent and of
 * what the machine lends it, so a changed recipe builds anew and nothing else does. Tags are the lab's own
 * (`slipway-lab/…`): a developer's `debian` or `node` images are never replaced; the product's names exist only inside
 * lab servers.
 */
import { createHash } from "node:crypto";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoPackages } from "./apt.ts";
import { baseImageKey, buildBaseImage } from "./base-image.ts";
import { docker, tryDocker } from "./docker.ts";
import {
  bareServerRecipe,
  caddyRecipe,
  dockerServerRecipe,
  gitServerRecipe,
  mailPeerRecipe,
  nodeRecipe,
  type Recipe,
} from "./image-recipes.ts";
import { labLabel } from "./labels.ts";
import { type MachineSettings, readMachineSettings } from "./machine-settings.ts";

/** What the product pulls on a user's server; the lab builds the same names from Debian's packages. */
export type ProductImage = "debian:bookworm-slim" | "node:24-bookworm-slim" | "caddy:2";

export interface LabImages {
  bareServer: string;
  dockerServer: string;
  gitServer: string;
  mailPeer: string;
  /** Lab tag by the name the product knows. */
  product: Readonly<Record<ProductImage, string>>;
}

const buildDeadlineMs = 600_000;

/** Builds what is missing. Callers hold the lab's lock, so that two runs do not build the same image twice. */
export async function ensureImages(say: (line: string) => void): Promise<LabImages> {
  const settings = await readMachineSettings();
  const base = await ensureBase(settings, say);
  const [servers, gitServer, mailPeer, node, caddy] = await Promise.all([
    ensureServers(base, say),
    ensure("git-server", gitServerRecipe(base), say),
    ensure("mail-peer", mailPeerRecipe(base), say),
    ensure("node", nodeRecipe(base, settings), say),
    ensure("caddy", caddyRecipe(base), say),
  ]);
  return {
    ...servers,
    gitServer,
    mailPeer,
    product: { "debian:bookworm-slim": base, "node:24-bookworm-slim": node, "caddy:2": caddy },
  };
}

/** Why this machine has no images and cannot make them; undefined when it can have a lab. */
export async function whyNoImages(): Promise<string | undefined> {
  const refusal = whyNoPackages();
  if (refusal === undefined) return undefined;
  if (!existsSync("/usr/bin/apt-get")) return refusal;
  return (await exists(tagFor("debian", baseImageKey(await readMachineSettings())))) ? undefined : refusal;
}

async function ensureServers(
  base: string,
  say: (line: string) => void,
): Promise<Pick<LabImages, "bareServer" | "dockerServer">> {
  const bareServer = await ensure("server", bareServerRecipe(base), say);
  return { bareServer, dockerServer: await ensure("server-docker", dockerServerRecipe(bareServer), say) };
}

async function ensureBase(settings: MachineSettings, say: (line: string) => void): Promise<string> {
  const tag = tagFor("debian", baseImageKey(settings));
  if (await exists(tag)) return tag;
  await timed(`image ${tag}`, say, () => buildBaseImage(tag, [labLabel], settings, say));
  await forgetOlder("debian", tag);
  return tag;
}

async function ensure(name: string, recipe: Recipe, say: (line: string) => void): Promise<string> {
  const tag = tagFor(name, JSON.stringify([recipe.dockerfile, recipe.files, recipe.version]));
  if (await exists(tag)) return tag;
  await timed(`image ${tag}`, say, () => build(tag, recipe));
  await forgetOlder(name, tag);
  return tag;
}

async function build(tag: string, recipe: Recipe): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), "slipway-lab-image-"));
  try {
    writeFileSync(join(context, "Dockerfile"), recipe.dockerfile);
    for (const [name, content] of Object.entries(recipe.files)) writeFileSync(join(context, name), content);
    for (const [name, path] of Object.entries(recipe.copies)) {
      cpSync(path, join(context, name), { recursive: true, dereference: true });
    }
    // The classic builder: a client of version 23 or later without the buildx plugin refuses BuildKit.
    await docker(["build", "-q", "--force-rm", "--label", labLabel, "-t", tag, context], {
      env: { DOCKER_BUILDKIT: "0" },
      deadlineMs: buildDeadlineMs,
    });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

function tagFor(name: string, key: string): string {
  return `slipway-lab/${name}:${createHash("sha256").update(key).digest("hex").slice(0, 12)}`;
}

async function exists(tag: string): Promise<boolean> {
  return (await tryDocker(["image", "inspect", "--format", "{{.Id}}", tag])).code === 0;
}

/** Untags what an earlier recipe left. One that a running server still uses stays: docker refuses, and that is right. */
async function forgetOlder(name: string, current: string): Promise<void> {
  const listing = await docker([
    "image",
    "ls",
    "--format",
    "{{.Repository}}:{{.Tag}}",
    `slipway-lab/${name}`,
  ]);
  for (const tag of listing.split("\n")) {
    if (tag !== "" && tag !== current) await tryDocker(["image", "rm", tag]);
  }
}

export async function timed<T>(
  what: string,
  say: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const startMs = performance.now();
  const result = await work();
  say(`${what}: ${((performance.now() - startMs) / 1_000).toFixed(1)} s`);
  return result;
}
