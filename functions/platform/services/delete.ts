/** Removes a service from a project; refused while others wait for it, since they could not start. */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { projectServices } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { PlatformParts } from "../parts.ts";
import { lockServices, serviceIn } from "./project-of.ts";

export async function deleteService(
  parts: PlatformParts,
  principal: Principal,
  { projectId, serviceId }: { projectId: string; serviceId: string },
): Promise<void> {
  await parts.db.transaction(async (tx) => {
    const { services } = await lockServices(tx, principal, projectId);
    const { name } = serviceIn(services, serviceId);
    const waiting = services.filter((service) => service.dependsOn.includes(name));
    if (waiting.length > 0) {
      const names = waiting.map((service) => service.name).join(", ");
      throw new Refusal(
        "conflict",
        "service_needed",
        `${names} depend${waiting.length === 1 ? "s" : ""} on ${name}. Change dependsOn there first.`,
      );
    }
    await tx.delete(projectServices).where(eq(projectServices.id, serviceId));
    const resource = { kind: "project", id: projectId };
    await writeAudit(tx, principal, { action: "service.deleted", resource, fields: [name] });
  });
}
