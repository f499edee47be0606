/** An organization with a git connection to a git host of this machine, and projects of a repository there. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type GitHostApiServer, openGitHostApi } from "../../../git-host-api-server.ts";
import { addServer, type Organization, openTestPlatform, type TestPlatform } from "../platform.ts";

export interface HookScene {
  platform: TestPlatform;
  host: GitHostApiServer;
  acme: Organization;
  /** May manage hooks. */
  token: string;
  serverId: string;
  /** A connection with `token`, or another. */
  connect(change?: Record<string, unknown>): Promise<string>;
  /** A repository of its own name at the host; answers its source, and what the host keeps. */
  repository(name?: string): {
    owner: string;
    repo: string;
    kept: ReturnType<GitHostApiServer["repository"]>;
  };
  /** Creates a project with this source and answers it. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
  project(source: Record<string, unknown>): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  call(method: string, path: string, body?: unknown): Promise<any>;
  audited(projectId: string): Promise<string[]>;
}

export function openHookScene(): HookScene {
  const scene = {} as HookScene;
  beforeAll(async () => {
    scene.platform = await openTestPlatform();
  });
  afterAll(() => scene.platform.close());
  beforeEach(async () => {
    const host = await openGitHostApi();
    const acme = await scene.platform.organization();
    const call: HookScene["call"] = async (method, path, body) => {
      const answer = await acme.call(method, path, body);
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
      return answer.body;
    };
    const token = host.token("hooks");
    Object.assign(scene, { host, acme, call, token, serverId: await addServer(acme.call) });
  });
  afterEach(() => scene.host.close());
  return Object.assign(scene, {
    connect: async (change: Record<string, unknown> = {}) => {
      const given = { name: "git", baseUrl: scene.host.url, kind: "token", secret: scene.token, ...change };
      return (await scene.call("POST", "/api/git-connections", given)).data.id;
    },
    repository: (repo = `shop-${randomUUID()}`) => {
      return { owner: "Acme", repo, kept: scene.host.repository(`Acme/${repo}`) };
    },
    project: async (source: Record<string, unknown>) => {
      const given = { name: "Shop", serverId: scene.serverId, source: { kind: "git", ...source } };
      return (await scene.call("POST", "/api/projects", given)).data;
    },
    audited: async (projectId: string) => {
      const { data } = await scene.call("GET", "/api/audit?limit=200");
      return data
        .filter(({ resource }: { resource: { id: string } }) => resource.id === projectId)
        .map(({ action }: { action: string }) => action)
        .reverse();
    },
  });
}
