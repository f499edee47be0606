/** Changes a project; takes effect with the next deployment. A change of how it is built asks for a full rebuild then. */
import { and, eq, isNull } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { projects } from "../../shared/db/schema.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { ProjectSource } from "../../shared/domain/project.ts";
import { notFound } from "../../shared/domain/refusal.ts";
import { refuseInCloud } from "./cloud-link/refuse-in-cloud.ts";
import { type ProjectSettings, requireVolumesOfApp, sourceColumns } from "./create-project.ts";
import { useConnection } from "./git-connections/use.ts";
import type { PlatformParts } from "./parts.ts";
import { showProject } from "./project-row.ts";

export interface ProjectChange extends ProjectSettings {
  name?: string | undefined;
  source?: ProjectSource | undefined;
}

const rootConfiguration: readonly (keyof ProjectChange)[] = [
  "rootDirectory",
  "buildStrategy",
  "build",
  "source",
];

export async function updateProject(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  change: ProjectChange,
) {
  return parts.db.transaction(async (tx) => {
    const before = await load(tx, principal, "project", id);
    const fields = (Object.keys(change) as (keyof ProjectChange)[]).filter(
      (field) => change[field] !== undefined,
    );
    if (fields.length === 0) return showProject(tx, before, parts.baseDomain);
    refuseInCloud(before);
    const { source, ...settings } = change;
    requireVolumesOfApp(before.kind, change.volumes);
    if (source !== undefined) await useConnection(tx, principal, source, before.source);
    const rebuild = fields.some((field) => rootConfiguration.includes(field));
    const [row] = await tx
      .update(projects)
      .set({
        ...(rebuild ? { rebuildAllNext: true } : {}),
        ...settings,
        ...(source === undefined ? {} : sourceColumns(source)),
      })
      .where(and(eq(projects.id, id), isNull(projects.deletedAt)))
      .returning();
    if (row === undefined) throw notFound();
    await writeAudit(tx, principal, { action: "project.updated", resource: { kind: "project", id }, fields });
    return showProject(tx, row, parts.baseDomain);
  });
}
