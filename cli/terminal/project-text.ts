/** How projects look to a person. */
import type { Project } from "../api/shapes.ts";
import { fields, table } from "./table.ts";
import { ago } from "./time.ts";

export function projectTable(projects: readonly Project[], nowMs: number): string {
  if (projects.length === 0) return "No projects yet. Create one with `slipway project create`.";
  return table(
    ["SLUG", "NAME", "ID", "REPOSITORY", "PUSH", "ADDRESS", "CREATED"],
    projects.map((one) => [
      one.slug,
      one.name,
      one.id,
      repositoryOf(one) ?? "(upload)",
      one.autoDeploy && one.source.kind === "git" ? "deploys" : "-",
      one.urls[0] ?? "-",
      ago(one.createdAt, nowMs),
    ]),
  );
}

export function projectText(one: Project, nowMs: number): string {
  const { build, healthCheck, resources } = one;
  const source = one.source.kind === "git" ? one.source : null;
  return fields([
    ["id", one.id],
    ["name", one.name],
    ["slug", one.slug],
    ["kind", one.kind],
    ["server", one.serverId ?? "the pool"],
    ["lives in", one.location === "cloud" ? `the cloud, as ${one.cloudProjectId}` : null],
    ["source", source === null ? "uploaded folders" : null],
    ["repository", repositoryOf(one)],
    ["clone URL", source?.cloneUrl],
    ["branch", source === null ? null : (source.branch ?? "default branch")],
    ["deploys on push", source === null ? null : one.autoDeploy ? "yes" : "no"],
    ["webhook", source === null ? null : webhookText(one)],
    ["commit statuses", one.commitStatusProblem],
    ["root", one.rootDirectory],
    ["build strategy", one.buildStrategy],
    ["install", build.installCommand],
    ["build", build.buildCommand],
    ["start", build.startCommand],
    ["output", build.outputDirectory],
    ["port", build.port?.toString()],
    ["health", [healthCheck.path, healthCheck.port].filter((part) => part !== undefined).join(" on port ")],
    ["update strategy", one.updateStrategy],
    ["cpus", resources.cpus?.toString()],
    ["memory", resources.memoryMB === undefined ? null : `${resources.memoryMB} MB`],
    ["volumes", one.volumes.join(" ")],
    ["rollback window", String(one.rollbackWindow)],
    ["rebuilds all next", one.rebuildAllNext ? "yes" : null],
    ["state", one.deleting ? "being deleted" : null],
    ["active deployment", one.activeDeploymentId],
    ["address", one.urls.join(" ")],
    ["created", ago(one.createdAt, nowMs)],
  ]);
}

function webhookText({ linked, hookRegistered }: Project): string {
  if (hookRegistered) return "linked, registered at the git host";
  return linked ? "linked, to be added by hand" : "not linked";
}

function repositoryOf({ source }: Project): string | null {
  return source.kind === "git" ? `${source.owner}/${source.repo}` : null;
}
