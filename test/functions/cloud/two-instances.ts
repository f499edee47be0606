/** A self-hosted instance and a cloud, each with a database of its own, and real HTTP between them. */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { servers } from "../../../shared/db/server-tables.ts";
import type { Permission } from "../../../shared/domain/permission.ts";
import { seedOrganization } from "../../database.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import { hostKey } from "../platform/platform.ts";
import { type Answered, type RunningPlatform, startRunningPlatform } from "../running-platform.ts";

export interface Account {
  owner: { organizationId: string; userId: string };
  token: string;
  call: RunningPlatform["call"];
}

export interface TwoInstances {
  home: RunningPlatform;
  cloud: RunningPlatform;
  /** Another organization of an instance. */
  account(of: RunningPlatform, permissions?: Permission[]): Promise<Account>;
  close(): Promise<void>;
}

export async function startTwoInstances(): Promise<TwoInstances> {
  const [home, cloud] = await Promise.all([startRunningPlatform(), startRunningPlatform({ mode: "cloud" })]);
  return {
    home,
    cloud,
    account: async (of, permissions) => {
      const owner = await seedOrganization(of.db);
      const { token } = await seedToken(of.db, owner, permissions === undefined ? {} : { permissions });
      return { owner, token, call: callerOf(of.url, token) };
    },
    close: async () => void (await Promise.all([home.close(), cloud.close()])),
  };
}

export function callerOf(url: string, token: string): RunningPlatform["call"] {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : null };
  };
}

/** A server that is said to be ready, and on which nothing answers. */
export async function addReadyServer({ call }: Account | RunningPlatform, db: RunningPlatform["db"]) {
  const auth = { kind: "password", password: "hunter22" };
  const address = { name: `web-${randomBytes(3).toString("hex")}`, host: "127.0.0.1", port: 9 };
  const made = await call("POST", "/api/servers", { ...address, auth, hostKey: hostKey() });
  const id: string = ok(made, 201).body.data.id;
  await db.update(servers).set({ bootstrappedAt: new Date() }).where(eq(servers.id, id));
  return id;
}

export function ok(answer: Answered, status: number): Answered {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text}`);
  return answer;
}
