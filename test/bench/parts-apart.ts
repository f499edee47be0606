/** Edge and platform function as processes of their own on one database, as containers run them, with a project to read. */
import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { initOffline } from "../../functions/offline.ts";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { createPostgresEdgeStore } from "../../shared/adapters/edge-store-postgres.ts";
import { startEmbeddedPostgres } from "../../shared/adapters/embedded-postgres.ts";
import { openDatabase } from "../../shared/adapters/postgres.ts";
import { createIdentitySigner } from "../../shared/crypto/identity-token.ts";
import { hashToken } from "../../shared/crypto/token.ts";
import { permissionsOf } from "../../shared/domain/permission.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { identityHeader } from "../../shared/http/identity-header.ts";
import { createClient } from "../demo/main-job.ts";
import { makeDataFolder } from "../demo/platform-process.ts";
import { runPart, startPart } from "../part-process.ts";
import { silentLog } from "../silent-log.ts";
import { linkQuietProject } from "./quiet-project.ts";

export interface PartsApart {
  edgeUrl: string;
  functionUrl: string;
  /** Of the project. */
  path: string;
  /** For the edge. */
  bearer: Record<string, string>;
  /** For one request to the function. */
  signed(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export async function openPartsApart(): Promise<PartsApart> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const each of undo.reverse().splice(0)) await each();
  };
  try {
    return { ...(await open(undo)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(undo: (() => Promise<unknown>)[]): Promise<Omit<PartsApart, "close">> {
  const home = await makeDataFolder();
  undo.push(() => rm(home, { recursive: true, force: true }));
  // As root the database runs as another user, who must pass through.
  await chmod(home, 0o711);
  const folder = await openDataFolder(join(home, "database"), { purpose: "platform" });
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  undo.push(async () => {
    await postgres.stop();
    folder.release();
  });
  const secrets = join(home, "secrets");
  const { code, output } = await runPart(["set-up", secrets], { DATABASE_URL: postgres.url });
  if (code !== 0) throw new Error(`The set-up failed:\n${output}`);
  const secretsFile = (part: string) => join(secrets, part, "secrets.json");
  const common = {
    DATABASE_URL: postgres.url,
    SLIPWAY_API_LIMIT: "10000000",
    SLIPWAY_DATA_DIR: join(home, "data"),
  };
  const platform = await startPart("platform", { ...common, SLIPWAY_SECRETS_FILE: secretsFile("platform") });
  undo.push(platform.stop);
  const edge = await startPart("edge", {
    ...{ ...common, SLIPWAY_SECRETS_FILE: secretsFile("edge"), SLIPWAY_PLATFORM_URL: platform.url },
    ...{ SLIPWAY_DEPLOY_URL: "http://127.0.0.1:9", SLIPWAY_NOTIFY_URL: "http://127.0.0.1:9" },
  });
  undo.push(edge.stop);
  const { token } = await initOffline(
    { dataFolder: home, databaseUrl: postgres.url, log: silentLog },
    { organization: "Bench", email: "bench@example.com", password: "correct horse battery staple" },
  );
  const project = await linkQuietProject(createClient({ baseUrl: edge.url, token }));
  const path = `/api/projects/${project.id}`;
  const identity = await identityOf(postgres.url, token);
  const { SLIPWAY_IDENTITY_KEY: key } = JSON.parse(await readFile(secretsFile("edge"), "utf8"));
  const signer = await createIdentitySigner(key);
  const asked = { method: "GET", path, body: async () => new Uint8Array() };
  return {
    ...{ edgeUrl: edge.url, functionUrl: platform.url, path, bearer: { authorization: `Bearer ${token}` } },
    signed: async () => ({ [identityHeader]: await signer.sign("platform", asked, identity) }),
  };
}

/** As the edge would say it. */
async function identityOf(databaseUrl: string, token: string): Promise<Identity> {
  const { db, close } = openDatabase({ url: databaseUrl, log: silentLog, max: 1 });
  try {
    const found = await createPostgresEdgeStore(db).findCredential(await hashToken(token));
    if (found === null) throw new Error("The token of the bench is not known.");
    const { id: credentialId, organizationId, userId, projectIds, serverIds, role, permissions } = found;
    return {
      ...{ organizationId, userId, credentialId, projectIds, serverIds },
      permissions: [...permissionsOf(role, permissions)],
      ...{ sourceIp: "127.0.0.1", requestId: "req_bench" },
    };
  } finally {
    await close();
  }
}
