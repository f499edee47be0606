/**
 * The environment of a project. Values go in and never come out: each is sealed to its key, and a keyed fingerprint
 * shows whether it changed. Takes effect with the next deployment, which rebuilds everything.
 */
import { and, asc, eq, inArray } from "drizzle-orm";
import { fingerprint } from "../../shared/crypto/seal.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { projectEnv, projects } from "../../shared/db/project-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid } from "../../shared/domain/refusal.ts";
import { envValuePlace } from "../../shared/domain/sealed-place.ts";
import { refuseInCloud } from "./cloud-link/refuse-in-cloud.ts";
import type { PlatformParts } from "./parts.ts";
import type { ProjectRow } from "./project-row.ts";

export interface EnvChange {
  set: Record<string, string>;
  unset: string[];
}

export async function readEnv(db: Queryable, principal: Principal, id: string) {
  await load(db, principal, "project", id);
  return entries(db, id);
}

export async function changeEnv(parts: PlatformParts, principal: Principal, id: string, change: EnvChange) {
  const both = change.unset.find((key) => Object.hasOwn(change.set, key));
  if (both !== undefined) throw invalid("body.unset", `${both} is in \`set\` as well`);
  return parts.db.transaction(async (tx) => {
    const project = await load(tx, principal, "project", id);
    refuseInCloud(project);
    // One writer at a time: the count of entries below must hold.
    await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for("no key update");
    const present = new Map((await entries(tx, id)).map((entry) => [entry.key, entry.fingerprint]));
    const written = await write(parts, tx, project, change.set, present);
    const removed = change.unset.filter((key) => present.has(key));
    if (removed.length > 0) {
      await tx.delete(projectEnv).where(and(eq(projectEnv.projectId, id), inArray(projectEnv.key, removed)));
    }
    if ((await tx.$count(projectEnv, eq(projectEnv.projectId, id))) > limits.envEntries) {
      throw invalid("body.set", `would make more than ${limits.envEntries} entries`);
    }
    const fields = [...written, ...removed];
    if (fields.length > 0) {
      await tx.update(projects).set({ rebuildAllNext: true }).where(eq(projects.id, id));
      await writeAudit(tx, principal, {
        action: "project.env_changed",
        resource: { kind: "project", id },
        fields,
      });
    }
    return entries(tx, id);
  });
}

/** The keys whose value really is another one. */
async function write(
  parts: PlatformParts,
  tx: Transaction,
  project: ProjectRow,
  set: Record<string, string>,
  present: ReadonlyMap<string, string>,
): Promise<string[]> {
  const wanted = Object.entries(set);
  if (wanted.length > limits.envEntries)
    throw invalid("body.set", `has more than ${limits.envEntries} entries`);
  const rows: (typeof projectEnv.$inferInsert)[] = [];
  for (const [key, value] of wanted) {
    const print = await fingerprint(value, parts.fingerprintKey, `${project.id}/${key}`);
    if (present.get(key) === print) continue;
    const sealedValue = await parts.sealer.seal("env", envValuePlace(project, key), value);
    rows.push({
      projectId: project.id,
      key,
      sealedValue,
      fingerprint: print,
      updatedAt: new Date(parts.clock.nowMs()),
    });
  }
  for (const row of rows) {
    const { sealedValue, fingerprint: print, updatedAt } = row;
    await tx
      .insert(projectEnv)
      .values(row)
      .onConflictDoUpdate({
        target: [projectEnv.projectId, projectEnv.key],
        set: { sealedValue, fingerprint: print, ...(updatedAt === undefined ? {} : { updatedAt }) },
      });
  }
  return rows.map((row) => row.key);
}

async function entries(db: Queryable, projectId: string) {
  const rows = await db
    .select({ key: projectEnv.key, fingerprint: projectEnv.fingerprint, updatedAt: projectEnv.updatedAt })
    .from(projectEnv)
    .where(eq(projectEnv.projectId, projectId))
    .orderBy(asc(projectEnv.key));
  return rows.map((row) => ({ ...row, updatedAt: row.updatedAt.toISOString() }));
}
