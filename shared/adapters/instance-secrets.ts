/**
 * Makes the secrets of a self-hosted instance once and reads them ever after: `secrets.json` in the data folder, mode
 * 0600. It appears whole and at once (a hard link refuses to replace), so that two first starts agree on one file. A
 * damaged one stops the start: new keys would make everything that is sealed unreadable, silently.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmod, link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type IdentityKey,
  type InstanceSecrets,
  type KeyRing,
  type SecretClass,
  secretClasses,
} from "../domain/instance-secrets.ts";
import { StartFailure } from "../domain/start-failure.ts";
import type { DataFolder } from "./data-folder.ts";

/** Makes what is missing. Needs the guard: two processes must not both add a class that a new version brings. */
export async function loadInstanceSecrets(folder: DataFolder): Promise<InstanceSecrets> {
  const file = join(folder.path, "secrets.json");
  const known = await readSecrets(file);
  const complete = completed(known);
  if (known === undefined) await writeWhole(file, complete, "create");
  else if (JSON.stringify(known) !== JSON.stringify(complete)) await writeWhole(file, complete, "replace");
  return complete;
}

/** For tools beside a live platform. Undefined: the platform has never been started. */
export async function readInstanceSecrets(dataFolder: string): Promise<InstanceSecrets | undefined> {
  const known = await readSecrets(join(dataFolder, "secrets.json"));
  return known === undefined ? undefined : completed(known);
}

/** Nothing is sealed with the identity or the password: who takes one out gets a new one. */
type KnownSecrets = {
  classes: Partial<Record<SecretClass, KeyRing>>;
  identity?: IdentityKey;
  edgePassword?: string;
};

async function readSecrets(file: string): Promise<KnownSecrets | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw unusable(file, "cannot be read", error);
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
  try {
    const value = JSON.parse(text) as Partial<KnownSecrets>;
    if (isKnown(value)) return value;
  } catch (error) {
    throw unusable(file, "is damaged", error);
  }
  throw unusable(file, "is damaged");
}

function isKnown(value: Partial<KnownSecrets>): value is KnownSecrets {
  const rings = Object.values(value.classes ?? {});
  const keys = rings.flat();
  return (
    (value.identity === undefined ||
      (value.identity?.crv === "Ed25519" && typeof value.identity.d === "string")) &&
    (value.edgePassword === undefined || /^\w{32,}$/.test(value.edgePassword)) &&
    rings.length > 0 &&
    rings.every((ring) => ring.length > 0) &&
    keys.every(({ kid, key }) => typeof kid === "string" && Buffer.from(key, "base64").length === 32)
  );
}

function completed(known: KnownSecrets | undefined): InstanceSecrets {
  const rings = secretClasses.map((name) => [name, known?.classes[name] ?? newRing()] as const);
  return {
    classes: { ...known?.classes, ...(Object.fromEntries(rings) as Record<SecretClass, KeyRing>) },
    identity: known?.identity ?? newIdentity(),
    edgePassword: known?.edgePassword ?? randomBytes(24).toString("hex"),
  };
}

function newRing(): KeyRing {
  return [{ kid: randomBytes(6).toString("hex"), key: randomBytes(32).toString("base64") }];
}

function newIdentity(): IdentityKey {
  const { x, d } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  if (x === undefined || d === undefined) throw new Error("Ed25519 keys have both halves.");
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", kid: randomBytes(6).toString("hex"), x, d };
}

async function writeWhole(file: string, secrets: InstanceSecrets, how: "create" | "replace"): Promise<void> {
  const beside = `${file}.new`;
  await rm(beside, { force: true });
  const handle = await open(beside, "wx", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(secrets, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (how === "replace") return rename(beside, file);
  await link(beside, file);
  await rm(beside);
}

function unusable(file: string, what: string, cause?: unknown): StartFailure {
  return new StartFailure(
    "secrets_unusable",
    `The secrets of this instance, ${file}, ${what}. Put the file back from a backup of the data folder; without it nothing that is sealed can be read.`,
    cause === undefined ? undefined : { cause },
  );
}
