/** Adds a service to a project. Takes effect with the next deployment. */
import { writeAudit } from "../../../shared/db/audit.ts";
import { projectServices } from "../../../shared/db/project-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { HealthCheck, Resources, ServiceBuild } from "../../../shared/domain/project.ts";
import { invalid, Refusal } from "../../../shared/domain/refusal.ts";
import type { PlatformParts } from "../parts.ts";
import { changeVariables, sealVariables, type VariablesChange } from "./environment.ts";
import { requireOrder } from "./graph.ts";
import { lockServices } from "./project-of.ts";
import { type ServiceRow, showService } from "./show.ts";

export interface ServiceSettings {
  image?: string | undefined;
  build?: ServiceBuild | undefined;
  environment?: VariablesChange | undefined;
  ports?: string[] | undefined;
  dependsOn?: string[] | undefined;
  volumes?: string[] | undefined;
  watchPaths?: string[] | undefined;
  command?: string | null | undefined;
  healthCheck?: HealthCheck | undefined;
  updateStrategy?: "rolling" | "recreate" | null | undefined;
  resources?: Resources | undefined;
}

export interface NewService extends ServiceSettings {
  name: string;
}

export async function createService(
  parts: PlatformParts,
  principal: Principal,
  projectId: string,
  { environment = {}, ...wanted }: NewService,
) {
  refuseBoth(wanted);
  return parts.db.transaction(async (tx) => {
    const { project, services } = await lockServices(tx, principal, projectId);
    if (wanted.image === undefined && wanted.build === undefined) {
      throw invalid("body.image", "is needed, or `build`");
    }
    if (services.length >= limits.servicesMost) {
      throw new Refusal(
        "conflict",
        "too_many_services",
        `A project has at most ${limits.servicesMost} services.`,
      );
    }
    requireFreeName(services, wanted.name);
    const service = { name: wanted.name, dependsOn: wanted.dependsOn ?? [] };
    requireOrder([...services, service], service);
    const owned = { id: newId("service"), organizationId: project.organizationId };
    const sealedEnvironment = await sealVariables(parts, owned, changeVariables({}, environment));
    const [row] = await tx
      .insert(projectServices)
      .values({ ...owned, projectId, ...wanted, sealedEnvironment })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    const resource = { kind: "project", id: projectId };
    await writeAudit(tx, principal, { action: "service.created", resource, fields: [row.name] });
    return showService(parts, row);
  });
}

export function refuseBoth({ image, build }: ServiceSettings): void {
  if (image !== undefined && build !== undefined) {
    throw invalid("body.build", "stands for itself: a service has either `image` or `build`");
  }
}

export function requireFreeName(others: readonly ServiceRow[], name: string): void {
  const taken = others.find((service) => service.name.toLowerCase() === name.toLowerCase());
  if (taken === undefined) return;
  throw new Refusal(
    "conflict",
    "service_name_taken",
    `There is a service ${taken.name} in this project already.`,
    {
      details: [{ path: "body.name", message: "is taken" }],
    },
  );
}
