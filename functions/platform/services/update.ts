/**
 * Changes a service. Takes effect with the next deployment. Services name each other, so that a new name is written
 * into those that depend on it as well.
 */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { projectServices } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseBoth, requireFreeName, type ServiceSettings } from "./create.ts";
import { changeVariables, openVariables, sealVariables } from "./environment.ts";
import { requireOrder } from "./graph.ts";
import { lockServices, serviceIn } from "./project-of.ts";
import { type ServiceRow, showService } from "./show.ts";

export interface ServiceChange extends ServiceSettings {
  name?: string | undefined;
}

export async function updateService(
  parts: PlatformParts,
  principal: Principal,
  { projectId, serviceId }: { projectId: string; serviceId: string },
  change: ServiceChange,
) {
  refuseBoth(change);
  return parts.db.transaction(async (tx) => {
    const { services } = await lockServices(tx, principal, projectId);
    const before = serviceIn(services, serviceId);
    const fields = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (fields.length === 0) return showService(parts, before);
    const { environment, ...settings } = change;
    const others = services.filter((service) => service.id !== serviceId);
    const name = change.name ?? before.name;
    requireFreeName(others, name);
    const followed = await renameIn(tx, others, before.name, name);
    const dependsOn = change.dependsOn ?? before.dependsOn;
    requireOrder([...followed, { name, dependsOn }], { name, dependsOn });
    const sealedEnvironment =
      environment === undefined
        ? before.sealedEnvironment
        : await sealVariables(
            parts,
            before,
            changeVariables(await openVariables(parts, before), environment),
          );
    const [row] = await tx
      .update(projectServices)
      .set({ ...settings, ...imageOrBuild(change), sealedEnvironment })
      .where(eq(projectServices.id, serviceId))
      .returning();
    if (row === undefined) throw new Error("The locked row is gone");
    const resource = { kind: "project", id: projectId };
    await writeAudit(tx, principal, { action: "service.updated", resource, fields });
    return showService(parts, row);
  });
}

function imageOrBuild({ image, build }: ServiceChange) {
  if (image !== undefined) return { image, build: null };
  return build === undefined ? {} : { image: null, build };
}

/** Answers the others as they are then. */
async function renameIn(
  tx: Transaction,
  others: readonly ServiceRow[],
  from: string,
  to: string,
): Promise<ServiceRow[]> {
  if (from === to) return [...others];
  const followed: ServiceRow[] = [];
  for (const service of others) {
    const dependsOn = service.dependsOn.map((name) => (name === from ? to : name));
    if (service.dependsOn.includes(from)) {
      await tx.update(projectServices).set({ dependsOn }).where(eq(projectServices.id, service.id));
    }
    followed.push({ ...service, dependsOn });
  }
  return followed;
}
