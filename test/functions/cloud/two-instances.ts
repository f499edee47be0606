/** A self-hosted instance and a cloud, each with a database of its own, and real HTTP between them. */
import type { Permission } from "../../../shared/domain/permission.ts";
import { seedOrganization } from "../../database.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import { type RunningPlatform, startRunningPlatform } from "../running-platform.ts";

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

function callerOf(url: string, token: string): RunningPlatform["call"] {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : null };
  };
}
