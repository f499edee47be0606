/**
 * The whole platform in this process on a database of its own, called over HTTP by the token of an organization: for tests in which
 * every module works on the same real server. Tests of one module have `deploy-platform.ts` and `platform.ts` of their own.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfiguration } from "../../functions/configuration.ts";
import { type OneProcess, startInOneProcess } from "../../functions/one-process.ts";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import type { Database } from "../../shared/db/database.ts";
import { openTestDatabase, seedOrganization } from "../database.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import type { LabServer } from "../lab/server.ts";
import { type LogLine, recordingLog } from "../silent-log.ts";

export interface Answered {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
  body: any;
}

export interface RunningPlatform {
  url: string;
  db: Database;
  owner: { organizationId: string; userId: string };
  token: string;
  /** As the organization's owner. Bytes go as an archive, a string as it is, everything else as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  /** The deployment once it is over; throws after the time. */
  settled(deploymentId: string, withinMs?: number): Promise<Answered["body"]>;
  /** An uploaded folder is deployed; answers the deployment once it is over. */
  deployUpload(projectId: string, archive: Uint8Array): Promise<Answered["body"]>;
  errors(): LogLine[];
  close(): Promise<void>;
}

export async function startRunningPlatform(options: { mode?: "cloud" } = {}): Promise<RunningPlatform> {
  const database = await openTestDatabase();
  const dataFolder = await mkdtemp(join(tmpdir(), "slipway-running-"));
  const log = recordingLog();
  const platform = await startPlatform(database.url, dataFolder, log, options.mode);
  const owner = await seedOrganization(database.db);
  const { token } = await seedToken(database.db, owner);
  const call = caller(platform.url, token);
  const settled = async (id: string, withinMs = 150_000) => {
    const path = `/api/deployments/${id}`;
    await readStream(platform.url + path, token, withinMs);
    const { body } = await call("GET", path);
    if (body.data.finishedAt === null) throw new Error(`${id} is still ${body.data.status}`);
    return body.data;
  };
  return {
    ...{ url: platform.url, db: database.db, owner, token, call, settled },
    deployUpload: async (projectId, archive) => {
      const { body } = await call("POST", "/api/deployments/upload-sessions", { projectId });
      const { uploadSessionId } = body.data;
      const sent = await call("PUT", `/api/deployments/upload-sessions/${uploadSessionId}/content`, archive);
      if (sent.status !== 200) throw new Error(sent.text);
      const made = await call("POST", "/api/deployments/build/access", { projectId, uploadSessionId });
      return settled(made.body.deployment_id);
    },
    errors: () => log.lines.filter(({ level }) => level === "error"),
    close: async () => {
      await platform.close();
      await rm(dataFolder, { recursive: true, force: true });
      await database.close();
    },
  };
}

async function startPlatform(
  databaseUrl: string,
  path: string,
  log: ReturnType<typeof recordingLog>,
  mode: "self-hosted" | "cloud" = "self-hosted",
): Promise<OneProcess> {
  const folder = await openDataFolder(path, { purpose: "platform" });
  const environment = {
    DATABASE_URL: databaseUrl,
    SLIPWAY_MODE: mode,
    SLIPWAY_DATA_DIR: path,
    SLIPWAY_API_LIMIT: "10000000",
    SLIPWAY_TRUSTED_PROXIES: "127.0.0.1",
  };
  const configuration = readConfiguration(environment, { isRoot: false, workingDirectory: tmpdir() });
  const platform = await startInOneProcess({
    configuration: { ...configuration, port: 0 },
    databaseUrl,
    aloneOnDatabase: true,
    secrets: await loadInstanceSecrets(folder),
    version: "0.0.0-test",
    log,
  });
  folder.release();
  return platform;
}

function caller(url: string, token: string): RunningPlatform["call"] {
  return async (method, path, body, headers = {}) => {
    const type = body instanceof Uint8Array ? "application/gzip" : "application/json";
    const sent = body instanceof Uint8Array ? Buffer.from(body) : asText(body);
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": type }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      signal: AbortSignal.timeout(170_000),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, text, body: isJson ? JSON.parse(text) : null };
  };
}

function asText(body: unknown): string | undefined {
  return typeof body === "string" || body === undefined ? body : JSON.stringify(body);
}

/** A deployment's stream ends with it. */
async function readStream(deployment: string, token: string, withinMs: number): Promise<void> {
  const response = await fetch(`${deployment}/stream`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(withinMs),
  });
  await response.text();
}

export interface AddedServer {
  user?: string;
  auth?: Record<string, unknown>;
}

/** Adds a lab server by the API. */
export async function addLabServer(
  { call }: RunningPlatform,
  server: LabServer,
  { user = "root", auth = { kind: "key", privateKey: server.privateKey } }: AddedServer = {},
): Promise<string> {
  const { host, port, hostKey, httpPort, httpsPort } = server;
  const publicPorts = { http: httpPort, https: httpsPort };
  const made = await call("POST", "/api/servers", {
    ...{ name: `${server.name}-${user}`, host, port, user, auth, hostKey, publicPorts },
  });
  if (made.status !== 201) throw new Error(made.text);
  return made.body.data.id;
}

/** Bootstraps and answers the last event's data. */
export async function bootstrap({ call }: RunningPlatform, serverId: string): Promise<Answered["body"]> {
  const { status, text } = await call("POST", `/api/servers/${serverId}/bootstrap`);
  if (status !== 200) throw new Error(text);
  const [, data] = /^event: complete\n(?:id: .*\n)?data: (.*)$/m.exec(text) ?? [];
  if (data === undefined) throw new Error(`no last event in ${text.slice(-500)}`);
  return JSON.parse(data);
}
