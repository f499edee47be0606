/** Organizations of the caller: a token has exactly one, a person who is signed in those of all memberships. */
import { and, desc, eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { memberships, organizations } from "../../shared/db/identity-tables.ts";
import { beginNotifications } from "../../shared/db/notification-membership.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { load } from "../../shared/db/tenancy.ts";
import { isId, newId } from "../../shared/domain/identifier.ts";
import type { Role } from "../../shared/domain/permission.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { requireGrant, requireOwner } from "./grant-role.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";

type OrganizationRow = typeof organizations.$inferSelect;

export async function listOrganizations(db: Queryable, principal: Principal, page: PageRequest) {
  const all = isId("session", principal.credentialId);
  const rows = await db
    .select({ organization: organizations, role: memberships.role, id: organizations.id })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(
      and(
        eq(memberships.userId, principal.userId),
        all ? undefined : eq(organizations.id, principal.organizationId),
        behindCursor(organizations.id, page),
      ),
    )
    .orderBy(desc(organizations.id))
    .limit(page.limit + 1);
  return toPage(rows, page, ({ organization, role }) => show(organization, role));
}

export async function getOrganization(db: Queryable, principal: Principal, id: string) {
  return show(await load(db, principal, "organization", id), principal.role);
}

export async function createOrganization(db: Database, principal: Principal, name: string) {
  refuseNarrowed(principal, "make an organization");
  const { userId } = principal;
  return db.transaction(async (tx) => {
    const id = newId("organization");
    const [row] = await tx.insert(organizations).values({ id, name, primaryOwnerId: userId }).returning();
    if (row === undefined) throw new Error("The insert returned no row");
    await tx.insert(memberships).values({ organizationId: id, userId, role: "owner" });
    await beginNotifications(tx, { organizationId: id, userId });
    const who = { ...principal, organizationId: id };
    await writeAudit(tx, who, { action: "organization.created", resource: { kind: "organization", id } });
    return show(row, "owner");
  });
}

export async function renameOrganization(
  db: Database,
  principal: Principal,
  id: string,
  name: string | undefined,
) {
  return db.transaction(async (tx) => {
    const before = await load(tx, principal, "organization", id);
    refuseNarrowed(principal, "change the organization");
    if (name === undefined || name === before.name) return show(before, principal.role);
    await tx.update(organizations).set({ name }).where(eq(organizations.id, id));
    const resource = { kind: "organization", id };
    await writeAudit(tx, principal, { action: "organization.updated", resource, fields: ["name"] });
    return show({ ...before, name }, principal.role);
  });
}

/** To another owner. Whoever held it before stays an owner. */
export async function transferOrganization(db: Database, principal: Principal, id: string, userId: string) {
  return db.transaction(async (tx) => {
    const before = await load(tx, principal, "organization", id);
    await tx
      .select({ id: organizations.id })
      .from(organizations)
      .where(eq(organizations.id, id))
      .for("update");
    refuseNarrowed(principal, "change the organization");
    requireOwner(principal);
    requireGrant(principal, "owner");
    const [target] = await tx
      .select({ role: memberships.role })
      .from(memberships)
      .where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)));
    if (target?.role !== "owner") {
      throw new Refusal(
        "conflict",
        "not_an_owner",
        "Only an owner can be the primary one. Change the role first.",
      );
    }
    if (before.primaryOwnerId === userId) return show(before, principal.role);
    await tx.update(organizations).set({ primaryOwnerId: userId }).where(eq(organizations.id, id));
    const resource = { kind: "organization", id };
    await writeAudit(tx, principal, {
      action: "organization.transferred",
      resource,
      fields: ["primaryOwnerId"],
    });
    return show({ ...before, primaryOwnerId: userId }, principal.role);
  });
}

function show({ id, name, primaryOwnerId, createdAt }: OrganizationRow, role: Role) {
  return { id, name, role, primaryOwnerId, createdAt: createdAt.toISOString() };
}
