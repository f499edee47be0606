/**
 * The step before the containers of a self-hosted instance: the newest schema, and the secrets. They are made once, into
 * a folder that no part sees; each part has a folder of its own with the few that it needs, and the modules hold the public
 * half of the edge's key alone. The edge is on the internet and signs in under a database role of its own.
 */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openDataFolder } from "../shared/adapters/data-folder.ts";
import { loadInstanceSecrets } from "../shared/adapters/instance-secrets.ts";
import { edgeUrl, makeEdgeRole } from "../shared/adapters/postgres-edge-role.ts";
import { type MigratedDatabase, migrateDatabase } from "../shared/adapters/postgres-migrate.ts";
import type { InstanceSecrets } from "../shared/domain/instance-secrets.ts";
import {
  classesOf,
  edgeDatabaseName,
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
    const edgeAddress = await migrate(databaseUrl, secrets, log);
    for (const part of parts) {
      const added = part === "edge" && edgeAddress !== undefined ? { [edgeDatabaseName]: edgeAddress } : {};
      await writeFor(part, join(folder, part), secrets, added);
    }
  } finally {
    own.release();
  }
}

/** Answers the address that the edge signs in with. Undefined: there is no role for it, which the log says. */
async function migrate(databaseUrl: string, secrets: InstanceSecrets, log: Log): Promise<string | undefined> {
  const password = secrets.edgePassword;
  let missing: string | undefined;
  const before = async (db: MigratedDatabase) => {
    missing = await makeEdgeRole(db, password);
  };
  await migrateDatabase(databaseUrl, { log, before });
  if (missing === undefined) return edgeUrl(databaseUrl, password);
  log.warn(
    {},
    `No database role is made for the edge: ${missing}. Give the edge ${edgeDatabaseName} (docs/operating.md, "In containers"), or DATABASE_URL.`,
  );
  return undefined;
}

async function writeFor(
  part: Part,
  folder: string,
  secrets: InstanceSecrets,
  added: Readonly<Record<string, string>>,
): Promise<void> {
  const { d: _private, ...publicKey } = secrets.identity;
  const rings = classesOf[part].map((each) => [sealName(each), secrets.classes[each]]);
  const identity = part === "edge" ? [identityKeyName, secrets.identity] : [identityPublicName, [publicKey]];
  const file = join(folder, "secrets.json");
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify({ ...Object.fromEntries([...rings, identity]), ...added }), {
    mode: 0o600,
  });
  await rename(`${file}.new`, file);
}
