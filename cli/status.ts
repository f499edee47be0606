/** `slipway status`: one look at the instance, the organization, the servers and the projects. */
import { listDeployments } from "../shared/contract/deployments.ts";
import { listOrganizations } from "../shared/contract/organizations.ts";
import { listProjects } from "../shared/contract/projects.ts";
import { listServers } from "../shared/contract/servers.ts";
import { ready, version } from "../shared/contract/system.ts";
import { type Api, everything } from "./api/connect.ts";
import type { Deployment, Project, Server } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { fields, table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

export const defineStatus: Define = (command, context) => {
  command.action(async () => {
    const overview = await look(await context.api());
    context.output.result(overview, () => shown(overview, context.now()));
  });
  examples(command, "status", "status --json");
};

type Overview = Awaited<ReturnType<typeof look>>;

async function look(api: Api) {
  const [instance, isReady, organizations, servers, projects, newest] = await Promise.all([
    api.call(version, {}),
    readiness(api),
    allowed(api.call(listOrganizations, { query: { limit: 1 } }).then(({ data }) => data)),
    allowed(everything((query) => api.call(listServers, { query }))),
    allowed(everything((query) => api.call(listProjects, { query }))),
    allowed(api.call(listDeployments, { query: { limit: 200 } }).then(({ data }) => data)),
  ]);
  return {
    instance: { url: api.url, ...instance.data, ready: isReady },
    organization: organizations?.[0] ?? null,
    servers,
    projects: projects?.map((project) => ({ ...project, latestDeployment: latest(newest, project) })) ?? null,
  };
}

async function readiness(api: Api): Promise<boolean> {
  try {
    await api.call(ready, {});
    return true;
  } catch (error) {
    if (error instanceof Failure && error.status === 503) return false;
    throw error;
  }
}

/** null for what a narrowed token may not list: the rest of the overview is of use without it. */
async function allowed<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && error.status === 403) return null;
    throw error;
  }
}

function latest(newest: readonly Deployment[] | null, project: Project): Deployment | null {
  return newest?.find(({ projectId }) => projectId === project.id) ?? null;
}

function shown({ instance, organization, servers, projects }: Overview, nowMs: number): string {
  const head = fields([
    [
      "instance",
      `${instance.url} (${instance.version}, ${instance.mode}, ${instance.ready ? "ready" : "NOT READY"})`,
    ],
    ["organization", organization === null ? "-" : `${organization.name} (${organization.role})`],
  ]);
  return [head, serverTable(servers), projectTable(projects, servers, nowMs)].join("\n\n");
}

function serverTable(servers: readonly Server[] | null): string {
  if (servers === null) return "This token may not list servers.";
  if (servers.length === 0) return "No servers yet. Add one with `slipway server add`.";
  return table(
    ["SERVER", "ADDRESS", "READY"],
    servers.map(({ name, user, host, port, bootstrappedAt }) => [
      name,
      `${user}@${host}:${port}`,
      bootstrappedAt === null ? "no, run `slipway server bootstrap`" : "yes",
    ]),
  );
}

function projectTable(
  projects: Overview["projects"],
  servers: readonly Server[] | null,
  nowMs: number,
): string {
  if (projects === null) return "This token may not list projects.";
  if (projects.length === 0) return "No projects yet. Create one with `slipway project create`.";
  return table(
    ["PROJECT", "SERVER", "LAST DEPLOYMENT", "ADDRESS"],
    projects.map(({ slug, serverId, latestDeployment, urls }) => [
      slug,
      servers?.find(({ id }) => id === serverId)?.name ?? serverId ?? "the pool",
      latestDeployment === null
        ? "-"
        : `${latestDeployment.status}, ${ago(latestDeployment.createdAt, nowMs)}`,
      urls[0] ?? "-",
    ]),
  );
}
