/**
 * A repository that is linked to a project gets its webhook by itself (spec.md "Webhooks"): with the source, where its
 * connection can register it. Where it cannot, nothing has happened: no secret is left that nobody has seen, and `link`
 * makes one, says why not, and shows it. A hook of another repository goes, its secret with it, also one
 * that a person has added: who knows the secret there must not sign for the repository here.
 */
import { and, eq, isNull } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import type { GitConnectionRow } from "../git-connections/show.ts";
import type { PlatformParts } from "../parts.ts";
import type { ProjectRow } from "../project-row.ts";
import { placeOf, repositoryUrlOf } from "./access.ts";
import { type GivenSecret, giveSecret } from "./link.ts";
import { registerHook } from "./register.ts";

/**
 * Whether the project's hook stands at a place that this source does not lead to. `connection`: that of the source before,
 * where it is the one that has changed.
 */
export async function leavesHook(
  tx: Transaction,
  before: ProjectRow,
  source: ProjectSource,
  connection?: GitConnectionRow,
): Promise<boolean> {
  const next = { organizationId: before.organizationId, source };
  if (before.hostHook !== null) {
    return (await repositoryUrlOf(tx, next)) !== before.hostHook.repositoryUrl;
  }
  if (before.sealedWebhookSecret === null) return false;
  return (await placeOf(tx, before, connection)) !== (await placeOf(tx, next));
}

/** For the person who has added a hook that was left: only they can remove it. */
export function leftByHand({ id, source }: ProjectRow, now: ProjectRow): string {
  const repository = source.kind === "git" ? `${source.owner}/${source.repo}` : "the project";
  const gone = `The webhook that was added by hand at ${repository} counts no more, its secret is forgotten; remove it there.`;
  if (now.hostHook !== null) return `${gone} One with another secret is registered at the new place.`;
  if (now.source.kind !== "git") return gone;
  return `${gone} POST /api/projects/${id}/link makes another address and secret.`;
}

/** After the source was written. Answers the row as it is then. */
export async function registerWithSource(
  parts: PlatformParts,
  principal: Principal,
  row: ProjectRow,
): Promise<ProjectRow> {
  if (row.hostHook !== null || (await repositoryUrlOf(parts.db, row)) === null) return row;
  const given = await parts.db.transaction((tx) => secretFor(tx, parts, row.id));
  const registration = await registerHook(parts, principal, row.id);
  if (given !== null) await settle(parts, principal, row.id, given, registration.registered);
  const [now] = await parts.db.select().from(projects).where(eq(projects.id, row.id));
  return now ?? row;
}

/** null: it has one already, as when a person has added the hook by hand. */
async function secretFor(tx: Transaction, parts: PlatformParts, id: string): Promise<GivenSecret | null> {
  const [row] = await tx
    .select()
    .from(projects)
    .where(and(eq(projects.id, id), isNull(projects.deletedAt)))
    .for("no key update");
  if (row === undefined || row.sealedWebhookSecret !== null) return null;
  return giveSecret(tx, parts, row);
}

async function settle(
  { db }: PlatformParts,
  principal: Principal,
  id: string,
  { sealed }: GivenSecret,
  registered: boolean,
): Promise<void> {
  if (registered) {
    const resource = { kind: "project", id };
    await writeAudit(db, principal, { action: "project.linked", resource, fields: ["webhookSecret"] });
    return;
  }
  const ours = and(eq(projects.id, id), eq(projects.sealedWebhookSecret, sealed), isNull(projects.hostHook));
  await db.update(projects).set({ sealedWebhookSecret: null }).where(ours);
}
