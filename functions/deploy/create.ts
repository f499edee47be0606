/** A new deployment of a project from its git source; and the checks that every new deployment shares. */
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { type Loaded, load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { servicesNotDeployable } from "../../shared/domain/project.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { type DeploymentView, insertDeployment, type NewDeployment, serverOf, viewOf } from "./store.ts";

export interface CreateRequest {
  projectId: string;
  branch?: string | undefined;
  commitSha?: string | undefined;
  trigger: "manual" | "cli";
}

export async function create(
  db: Database,
  principal: Principal,
  request: CreateRequest,
): Promise<DeploymentView> {
  const project = await load(db, principal, "project", request.projectId);
  refuseServices(project);
  if (project.source.kind !== "git") {
    throw cannotRun("no_git_source", "This project has no git source; deploy a folder to it instead.");
  }
  await refuseUnready(db, project);
  return enqueue(db, principal, {
    ...target(project),
    trigger: request.trigger,
    branch: request.branch ?? project.branch,
    commitSha: request.commitSha ?? null,
    createdBy: principal.userId,
  });
}

/** Writes the deployment with its audit entry and answers it. */
export async function enqueue(
  db: Database,
  principal: Principal,
  deployment: NewDeployment,
  id?: string,
): Promise<DeploymentView> {
  return db.transaction(async (tx) => {
    const made = await insertDeployment(tx, deployment, id);
    await writeAudit(tx, principal, {
      action: "deployment.created",
      resource: { kind: "deployment", id: made },
      fields: ["projectId", "trigger", "branch", "commitSha"],
    });
    return viewOf(tx, made);
  });
}

export function target(project: Loaded<"project">) {
  const { id: projectId, organizationId, serverId } = project;
  return { projectId, organizationId, serverId };
}

/** Nothing half made: what services would need to be deployed is not there yet. */
export function refuseServices({ kind }: Pick<Loaded<"project">, "kind">): void {
  if (kind === "app") return;
  throw new Refusal(
    "conflict",
    servicesNotDeployable,
    `A project of kind ${kind} cannot be deployed yet; its services can only be described. Use a project of kind app.`,
  );
}

/** A deployment that cannot run is refused at once, with what to do about it (spec.md: 400 in this module). */
export async function refuseUnready(db: Queryable, project: Loaded<"project">): Promise<void> {
  refuseServices(project);
  if (project.deletingAt !== null) {
    throw cannotRun("project_being_deleted", "The project is being deleted.");
  }
  if (project.location === "cloud") {
    throw cannotRun(
      "project_in_cloud",
      "This project lives in the cloud now; deploy it by its id, or one of its deployments there.",
    );
  }
  const server = await serverOf(db, project.serverId);
  if (server === undefined || server.deletedAt !== null) {
    throw cannotRun("server_deleted", "The project's server has been removed; give the project another one.");
  }
  if (server.bootstrappedAt === null && server.organizationId !== project.organizationId) {
    throw cannotRun("server_not_ready", "The pool of this cloud is being set up. Try again later.");
  }
  if (server.bootstrappedAt === null) {
    throw cannotRun(
      "server_not_ready",
      `Bootstrap the server first: POST /api/servers/${server.id}/bootstrap.`,
    );
  }
}

export function cannotRun(code: string, message: string): Refusal {
  return new Refusal("validation", code, message);
}
