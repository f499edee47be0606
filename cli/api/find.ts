/**
 * Finds what a person named. Everything may be named by id, slug or name. An id wins; otherwise exactly one thing must
 * match: with two the command stops and lists them, since guessing could deploy or delete the wrong one.
 */
import { getDeployment, listDeployments } from "../../shared/contract/deployments.ts";
import { getProject, listProjects } from "../../shared/contract/projects.ts";
import { getServer, listServers } from "../../shared/contract/servers.ts";
import { Failure } from "../frame/failure.ts";
import { type Api, everything } from "./connect.ts";
import type { Deployment, Project, Server } from "./shapes.ts";

export async function findProject(api: Api, named: string): Promise<Project> {
  if (looksLikeId("prj", named)) return (await api.call(getProject, { params: { id: named } })).data;
  const all = await everything((query) => api.call(listProjects, { query }));
  return only("project", named, all, (project) => [project.slug, project.name]);
}

export async function findServer(api: Api, named: string): Promise<Server> {
  if (looksLikeId("srv", named)) return (await api.call(getServer, { params: { id: named } })).data;
  const all = await everything((query) => api.call(listServers, { query }));
  return only("server", named, all, (server) => [server.name]);
}

/** A deployment by id, or the newest one of a project. */
export async function findDeployment(api: Api, named: string): Promise<Deployment> {
  if (isDeploymentId(named)) return (await api.call(getDeployment, { params: { id: named } })).data;
  const project = await findProject(api, named);
  const { data } = await api.call(listDeployments, { query: { projectId: project.id, limit: 1 } });
  const [newest] = data;
  if (newest === undefined) {
    throw new Failure("failed", "not_found", `${project.name} has no deployment yet.`, {
      hint: `Start one with \`slipway deploy ${project.slug}\`.`,
    });
  }
  return newest;
}

export function isDeploymentId(named: string): boolean {
  return looksLikeId("dep", named);
}

/** The one of `all` that has this id or one of these names; letters compare without case. */
export function only<T extends { id: string }>(
  kind: string,
  named: string,
  all: readonly T[],
  namesOf: (thing: T) => readonly string[],
): T {
  const byId = all.find(({ id }) => id === named);
  if (byId !== undefined) return byId;
  const wanted = named.toLowerCase();
  const matches = all.filter((thing) => namesOf(thing).some((name) => name.toLowerCase() === wanted));
  const [match] = matches;
  if (match !== undefined && matches.length === 1) return match;
  if (match === undefined) {
    throw new Failure("failed", "not_found", `There is no ${kind} "${named}".`, {
      hint: all.length === 0 ? `There is no ${kind} at all yet.` : `There are: ${listed(all, namesOf)}`,
    });
  }
  throw new Failure("failed", "ambiguous", `"${named}" names ${matches.length} ${kind}s.`, {
    hint: `Use the id of one of: ${listed(matches, namesOf)}`,
  });
}

function listed<T extends { id: string }>(
  things: readonly T[],
  namesOf: (thing: T) => readonly string[],
): string {
  const shown = things
    .slice(0, 20)
    .map((thing) => `${[...new Set(namesOf(thing))].join(" / ")} (${thing.id})`);
  return things.length > shown.length ? `${shown.join(", ")}, …` : shown.join(", ");
}

function looksLikeId(prefix: string, value: string): boolean {
  return value.startsWith(`${prefix}_`) && /^[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}$/.test(value);
}
