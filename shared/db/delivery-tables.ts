/** The tables of pushes: the inbox of deliveries, and the last head of each branch that was seen. */
import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { DeliveryOutcome, DeliveryReplay, DeliveryStatus, DeliveryVerdict } from "../domain/delivery.ts";
import { at, bytea, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";
import { projects } from "./project-tables.ts";

/** The delivery inbox (decisions.md section 5). One row per organization with a matching project, else one without. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    id: text().primaryKey(),
    provider: text().notNull(),
    /** X-Provider-Delivery, or the SHA-256 of the body. */
    deliveryId: text().notNull(),
    organizationId: text().references(() => organizations.id),
    event: text(),
    /** `owner/repo` in lower case, and of a push its branch and commit: what the delivery says of itself. */
    repository: text(),
    branch: text(),
    commitSha: text(),
    headers: jsonb().$type<Record<string, string>>().notNull(),
    /** As it came, and stored so: not compressed (storage external, migration 0011). */
    body: bytea().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    verdict: text().$type<DeliveryVerdict>(),
    reason: text(),
    /** Every project that was looked at: matched or the reason for the skip, and the deployment. */
    outcomes: jsonb().$type<DeliveryOutcome[]>().notNull().default([]),
    /** The last time that a person had it handled again; null where nobody did. */
    replay: jsonb().$type<DeliveryReplay | null>(),
    attempts: integer().notNull().default(0),
    leaseUntil: at(),
    /** It goes to the cloud: the deploy function works on it, and the edge leaves it alone. */
    forwarding: boolean().notNull().default(false),
    receivedAt: createdAt(),
    finishedAt: at(),
  },
  (table) => [
    uniqueIndex("webhook_deliveries_claim").on(
      table.provider,
      table.deliveryId,
      sql`coalesce(organization_id, '')`,
    ),
    index("webhook_deliveries_organization").on(table.organizationId, table.id),
    index("webhook_deliveries_open")
      .on(table.receivedAt)
      .where(sql`status in ('received', 'claimed', 'failed')`),
  ],
);

/**
 * The last head seen of the branch that a project deploys: by a push, or by the reconcile job, which looks for pushes
 * that never came. A column of projects would be locked by every push.
 */
export const branchHeads = pgTable(
  "branch_heads",
  {
    projectId: text()
      .primaryKey()
      .references(() => projects.id),
    /** Repository and branch that the head is of; another one begins anew. */
    source: text().notNull(),
    /** null: not seen yet. */
    head: text(),
    /** When a push brought the head; a git host may still show the one before for a moment. */
    pushedAt: at(),
    /** Also the claim of who looks: it is moved on before the look. */
    nextLookAt: at().notNull().defaultNow(),
    /** Looks in a row without an answer. */
    misses: integer().notNull().default(0),
  },
  (table) => [index("branch_heads_due").on(table.nextLookAt)],
);
