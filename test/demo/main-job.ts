/** The main job as calls of the API, for the demo, the bench and tests: a server becomes ready, a project gets its hook. */
import { type Client, createClient } from "../../shared/contract/client.ts";
import * as deployments from "../../shared/contract/deployments.ts";
import * as projects from "../../shared/contract/projects.ts";
import * as servers from "../../shared/contract/servers.ts";
import type { LabGitServer } from "../lab/git-server.ts";
import type { LabServer } from "../lab/server.ts";

export { type Client, createClient };

/** One line of what happens, for a terminal. */
export type Say = (line: string) => void;

/** Probes, adds, checks and bootstraps a lab server as a person would. Answers its id. */
export async function addServer(
  client: Client,
  machine: LabServer,
  say: Say = () => undefined,
): Promise<string> {
  const { host, port } = machine;
  const probed = await client.call(servers.probeServer, { json: { host, port } });
  say(`it presents ${probed.data.type} ${probed.data.fingerprint}`);
  const added = await client.call(servers.createServer, {
    json: {
      name: machine.name,
      host,
      port,
      auth: { kind: "key", privateKey: machine.privateKey },
      hostKey: probed.data.hostKey,
      publicPorts: { http: machine.httpPort, https: machine.httpsPort },
    },
  });
  const id = added.data.id;
  const { data: found } = await client.call(servers.checkServer, { params: { id } });
  if (!found.ok) throw new Error(`The server cannot be reached: ${found.error}`);
  say(
    `${found.os}, ${found.engine?.name ?? "no engine"} ${found.engine?.version ?? ""}, ${found.diskFreeMB} MB free`,
  );
  for await (const event of client.stream(servers.bootstrapServer, { params: { id } })) {
    const data = event.data as { line?: string; status?: string; error?: { message: string } | null };
    if (event.event === "log" && data.line !== undefined) say(data.line);
    if (event.event === "complete" && data.status !== "ready")
      throw new Error(data.error?.message ?? "bootstrap failed");
  }
  return id;
}

export interface LinkedProject {
  id: string;
  webhookUrl: string;
  secret: string;
  owner: string;
  repo: string;
}

/** A project from a repository of the lab's git host, with its hook. */
export async function linkProject(
  client: Client,
  options: { serverId: string; git: LabGitServer; owner: string; repo: string; name?: string },
): Promise<LinkedProject> {
  const { serverId, git, owner, repo } = options;
  const made = await client.call(projects.createProject, {
    json: {
      name: options.name ?? repo,
      serverId,
      source: { kind: "git", owner, repo, branch: "main", cloneUrl: git.url(owner, repo) },
      healthCheck: { path: "/" },
    },
  });
  const id = made.data.id;
  const { data: hook } = await client.call(projects.linkProject, { params: { id }, query: {} });
  if (hook.webhookSecret === undefined) throw new Error("The first link did not show its secret.");
  return { id, webhookUrl: hook.webhookUrl, secret: hook.webhookSecret, owner, repo };
}

export type Deployment = Awaited<ReturnType<typeof latestDeployment>> & object;

export async function latestDeployment(client: Client, projectId: string) {
  const page = await client.call(deployments.listDeployments, { query: { projectId, limit: 1 } });
  return page.data[0];
}

/** Follows a deployment to its end, saying each line, and answers how it stands then. */
export async function followDeployment(
  client: Client,
  id: string,
  say: Say = () => undefined,
): Promise<Deployment> {
  for await (const event of client.stream(deployments.streamDeployment, { params: { id } })) {
    const data = event.data as {
      line?: string;
      phase?: string;
      state?: string;
      ms?: number;
      status?: string;
    };
    if (event.event === "log" && data.line !== undefined) say(`${data.phase?.padEnd(7) ?? ""} ${data.line}`);
  }
  return (await client.call(deployments.getDeployment, { params: { id } })).data;
}
