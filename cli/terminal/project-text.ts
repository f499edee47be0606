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
      `${one.source.owner}/${one.source.repo}`,
      one.autoDeploy ? "deploys" : "-",
      one.urls[0] ?? "-",
      ago(one.createdAt, nowMs),
    ]),
  );
}

export function projectText(one: Project, nowMs: number): string {
  const { build, healthCheck, resources, source } = one;
  return fields([
    ["id", one.id],
    ["name", one.name],
    ["slug", one.slug],
    ["server", one.serverId],
    ["repository", `${source.owner}/${source.repo}`],
    ["clone URL", source.cloneUrl],
    ["branch", source.branch ?? "default branch"],
    ["deploys on push", one.autoDeploy ? "yes" : "no"],
    ["webhook", one.linked ? "linked" : "not linked"],
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
    ["rollback window", String(one.rollbackWindow)],
    ["rebuilds all next", one.rebuildAllNext ? "yes" : null],
    ["active deployment", one.activeDeploymentId],
    ["address", one.urls.join(" ")],
    ["created", ago(one.createdAt, nowMs)],
  ]);
}
