/**
 * The step before the containers of a self-hosted instance: the newest schema, and the secrets. They are made once, into
 * a folder that no part sees; each part has a folder of its own with the few that it needs, and the modules hold the public
 * half of the edge's key alone.
 */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openDataFolder } from "../shared/adapters/data-folder.ts";
import { loadInstanceSecrets } from "../shared/adapters/instance-secrets.ts";
import { migrateDatabase } from "../shared/adapters/postgres-migrate.ts";
import type { InstanceSecrets } from "../shared/domain/instance-secrets.ts";
import {
  classesOf,
  identityKeyName,
  identityPublicName,
  type Part,
  sealName,
} from "../shared/domain/module-secrets.ts";
import type { Log } from "../shared/ports/log.ts";

const parts: readonly Part[] = ["edge", "platform", "deploy", "notify"];

/** Makes what is missing, and changes nothing that is there. */
export async function setUp(databaseUrl: string, folder: string, log: Log): Promise<void> {
  const own = await openDataFolder(join(folder, "instance"), { purpose: "tool" });
  try {
    const secrets = await loadInstanceSecrets(own);
    for (const part of parts) await writeFor(part, join(folder, part), secrets);
  } finally {
    own.release();
  }
  await migrateDatabase(databaseUrl, { log });
}

async function writeFor(part: Part, folder: string, secrets: InstanceSecrets): Promise<void> {
  const { d: _private, ...publicKey } = secrets.identity;
  const rings = classesOf[part].map((each) => [sealName(each), secrets.classes[each]]);
  const identity = part === "edge" ? [identityKeyName, secrets.identity] : [identityPublicName, [publicKey]];
  const file = join(folder, "secrets.json");
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries([...rings, identity])), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
