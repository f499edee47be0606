/** A deploy platform with a lab server that is ready: proxy of the product, one organization, repositories of its own. */
import { randomBytes } from "node:crypto";
import type { PoolRules } from "../../../functions/deploy/pool-rules.ts";
import { installScript } from "../../../functions/platform/bootstrap/install-script.ts";
import { wallClock } from "../../../shared/adapters/clocks.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import type { projects } from "../../../shared/db/project-tables.ts";
import type { Runner } from "../../../shared/operations/runner.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import type { LabGitServer } from "../../lab/git-server.ts";
import type { LabServer } from "../../lab/server.ts";
import { recordingLog } from "../../silent-log.ts";
import {
  type DeployOrganization,
  type DeployPlatform,
  openDeployPlatform,
  rings,
} from "./deploy-platform.ts";

export interface LabWorld {
  platform: DeployPlatform;
  organization: DeployOrganization;
  serverId: string;
  /** null where processes of their own work. */
  runner: Runner | null;
  setEnv(projectId: string, env: Record<string, string>): Promise<void>;
  /** A repository with these files, and its project. */
  project(
    files: Record<string, string>,
    values?: Partial<typeof projects.$inferInsert>,
    env?: Record<string, string>,
  ): Promise<LabProject>;
  /** Lines that the platform wrote as errors. */
  errors(): unknown[];
  close(): Promise<void>;
}

export interface LabProject {
  id: string;
  slug: string;
  owner: string;
  repo: string;
  url: string;
  commit(files: Record<string, string | null>, branch?: string): Promise<string>;
  /** Deploys and answers when it is over; throws after the time. */
  deploy(body?: Record<string, unknown>): Promise<DeploymentBody>;
  start(body?: Record<string, unknown>): Promise<DeploymentBody>;
  settled(id: string, withinMs?: number): Promise<DeploymentBody>;
  /** GET through the server's proxy, by the project's default address. */
  get(path?: string): Promise<{ status: number; body: string }>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
export type DeploymentBody = any;

export async function openLabWorld(
  { server, git }: { server: LabServer; git: LabGitServer },
  options: {
    shell?: Shell;
    keys?: ReturnType<typeof rings>;
    runner?: false;
    clock?: Clock;
    /** The server is an operator's, and the organization another one. */
    pool?: PoolRules;
  } = {},
): Promise<LabWorld> {
  const log = recordingLog();
  const { shell = createSsh2Shell(), keys = rings(), clock = wallClock, pool } = options;
  const given = pool === undefined ? {} : { pool };
  const platform = await openDeployPlatform({ shell, log, keys, clock, ...given });
  const operator = await platform.organization();
  const organization = pool === undefined ? operator : await platform.organization();
  const serverId = await platform.addServer(operator, server);
  await makeReady(server, serverId);
  const runner = options.runner === false ? null : platform.startRunner();
  const owner = `deploy-${randomBytes(4).toString("hex")}`;
  let count = 0;
  return {
    platform,
    organization,
    serverId,
    runner,
    setEnv: (projectId, env) => platform.setEnv(organization, projectId, env),
    project: async (files, values = {}, env = {}) => {
      const repo = `app-${++count}`;
      await git.createRepository(owner, repo);
      const url = git.url(owner, repo);
      await git.commit(owner, repo, { files, message: "First" });
      const source = { kind: "git", provider: "git_host", owner, repo, cloneUrl: url } as const;
      const slug = `${owner}-${repo}`;
      const row = { source, slug, repository: `${owner}/${repo}`, branch: "main", ...values };
      const id = await platform.addProject(organization, serverId, row, env);
      return labProject({ id, slug, owner, repo, url, server, git, organization, platform });
    },
    errors: () => log.lines.filter(({ level }) => level === "error"),
    close: () => platform.close(),
  };
}

/** What a bootstrap does, through the oracle. */
async function makeReady(server: LabServer, serverId: string): Promise<void> {
  const done = await server.exec(["sh", "-c", installScript, "bootstrap", serverId], { deadlineMs: 170_000 });
  if (done.code !== 0) throw new Error(`the lab server did not become ready: ${done.stdout.slice(-2_000)}`);
}

interface ProjectParts extends Pick<LabProject, "id" | "slug" | "owner" | "repo" | "url"> {
  server: LabServer;
  git: LabGitServer;
  organization: DeployOrganization;
  platform: DeployPlatform;
}

function labProject({ server, git, organization, platform, ...project }: ProjectParts): LabProject {
  const { id, slug, owner, repo } = project;
  const start = async (body: Record<string, unknown> = {}) => {
    const answer = await organization.call("POST", "/api/deployments", { projectId: id, ...body });
    if (answer.status !== 202) throw new Error(`deploying was refused: ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  };
  const settled = async (deploymentId: string, withinMs = 120_000) => {
    const signal = AbortSignal.timeout(withinMs);
    for await (const page of platform.feed.follow(deploymentId, 0, signal)) void page;
    const { body } = await organization.call("GET", `/api/deployments/${deploymentId}`);
    if (body.data.finishedAt === null) throw new Error(`${deploymentId} is still ${body.data.status}`);
    return body.data;
  };
  return {
    ...project,
    commit: (files, branch) =>
      git.commit(owner, repo, { files, message: "Next", ...(branch === undefined ? {} : { branch }) }),
    start,
    settled,
    deploy: async (body) => settled((await start(body)).id),
    get: (path = "/") => throughProxy(server, `${slug}.localhost`, path),
  };
}

export async function throughProxy(server: LabServer, host: string, path: string) {
  const { request } = await import("node:http");
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port: server.httpPort, path, headers: { host }, timeout: 10_000 },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    sent.on("timeout", () => sent.destroy(new Error("no answer in time")));
    sent.on("error", reject);
    sent.end();
  });
}
