/** Changes a project; takes effect with the next deployment. A change of how it is built asks for a full rebuild then. */
import { and, eq, isNull } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Transaction } from "../../shared/db/database.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { ProjectSource } from "../../shared/domain/project.ts";
import { notFound } from "../../shared/domain/refusal.ts";
import { refuseInCloud } from "./cloud-link/refuse-in-cloud.ts";
import { type ProjectSettings, requireVolumesOfApp, sourceColumns } from "./create-project.ts";
import { useConnection } from "./git-connections/use.ts";
import { leavesHook, leftByHand, registerWithSource } from "./hooks/follow-source.ts";
import { noHook } from "./hooks/link.ts";
import { removeHostHook } from "./hooks/remove.ts";
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
  const { before, now, leaves } = await parts.db.transaction((tx) => writeProject(tx, principal, id, change));
  // Outside of the transaction: a git host that hangs must not hold a row.
  const stays = leaves ? await removeHostHook(parts, principal, before) : null;
  const row = change.source === undefined ? now : await registerWithSource(parts, principal, now);
  const warnings = [
    ...(stays === null ? [] : [`The webhook is still at the git host. ${stays}`]),
    ...(leaves && before.hostHook === null ? [leftByHand(before, row)] : []),
  ];
  const shown = await showProject(parts.db, row, parts.baseDomain);
  return { ...shown, ...(warnings.length === 0 ? {} : { warnings }) };
}

/** `leaves`: its webhook is one of another repository now, and is forgotten with its secret. */
export async function writeProject(tx: Transaction, principal: Principal, id: string, change: ProjectChange) {
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for("no key update");
  const before = await load(tx, principal, "project", id);
  const fields = (Object.keys(change) as (keyof ProjectChange)[]).filter(
    (field) => change[field] !== undefined,
  );
  if (fields.length === 0) return { before, now: before, leaves: false };
  refuseInCloud(before);
  const { source, ...settings } = change;
  requireVolumesOfApp(before.kind, change.volumes);
  if (source !== undefined) await useConnection(tx, principal, source, before.source);
  const leaves = source !== undefined && (await leavesHook(tx, before, source));
  const rebuild = fields.some((field) => rootConfiguration.includes(field));
  const [now] = await tx
    .update(projects)
    .set({
      ...(rebuild ? { rebuildAllNext: true } : {}),
      ...settings,
      ...(source === undefined ? {} : { ...sourceColumns(source), statusProblem: null }),
      ...(leaves ? noHook : {}),
    })
    .where(and(eq(projects.id, id), isNull(projects.deletedAt)))
    .returning();
  if (now === undefined) throw notFound();
  await writeAudit(tx, principal, { action: "project.updated", resource: { kind: "project", id }, fields });
  return { before, now, leaves };
}
