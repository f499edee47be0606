/**
 * Deliveries on their way to the cloud, as rows of the inbox: taken under the inbox's own lease and number of attempts, so
 * that any process may die at any point and another one goes on.
 */
import { and, eq, inArray, sql } from "drizzle-orm";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";

const inSeconds = (ms: number) => sql`clock_timestamp() + make_interval(secs => ${ms / 1000})`;

/** Bodies are up to 5 MiB each: few at a time. */
const takenAtOnce = 8;

export type Forwarded = Awaited<ReturnType<typeof takeForwards>>[number];

export async function takeForwards(db: Queryable) {
  await giveUp(db);
  const due = db
    .select({ id: webhookDeliveries.id })
    .from(webhookDeliveries)
    .where(
      sql`forwarding and status in ('received', 'claimed', 'failed') and attempts < ${limits.deliveryAttempts}
        and (lease_until is null or lease_until < clock_timestamp())`,
    )
    .orderBy(webhookDeliveries.receivedAt)
    .limit(takenAtOnce)
    .for("update", { skipLocked: true });
  return db
    .update(webhookDeliveries)
    .set({
      status: "claimed",
      attempts: sql`attempts + 1`,
      leaseUntil: inSeconds(limits.deliveryLeaseMs),
    })
    .where(inArray(webhookDeliveries.id, due))
    .returning({
      id: webhookDeliveries.id,
      organizationId: webhookDeliveries.organizationId,
      attempt: webhookDeliveries.attempts,
      provider: webhookDeliveries.provider,
      headers: webhookDeliveries.headers,
      body: webhookDeliveries.body,
      outcomes: webhookDeliveries.outcomes,
    });
}

async function giveUp(db: Queryable): Promise<void> {
  await db
    .update(webhookDeliveries)
    .set({ status: "failed", reason: "gave_up", finishedAt: sql`now()` })
    .where(
      sql`forwarding and status = 'claimed' and attempts >= ${limits.deliveryAttempts}
        and lease_until < clock_timestamp()`,
    );
}

/** Where it went stands in the row from then on. */
export async function settleForward(
  db: Queryable,
  { id, attempt, outcomes }: Forwarded,
  url: string,
): Promise<void> {
  const ids = outcomes.map(({ projectId }) => projectId);
  const rows = await db
    .select({ id: projects.id, cloudProjectId: projects.cloudProjectId })
    .from(projects)
    .where(inArray(projects.id, ids));
  const went = outcomes.map((outcome) => {
    if (outcome.verdict !== "forwarded") return outcome;
    const row = rows.find((each) => each.id === outcome.projectId);
    return { ...outcome, cloudProjectId: row?.cloudProjectId ?? null, cloudUrl: url };
  });
  await db
    .update(webhookDeliveries)
    .set({
      ...{ status: "done", reason: "forwarded_to_cloud", outcomes: went, leaseUntil: null },
      finishedAt: sql`now()`,
    })
    .where(ofOwner(id, attempt));
}

/** `isFinal`: another try would be answered the same. Else `lease_until` says when the next one may be. */
export async function failForward(
  db: Queryable,
  { id, attempt }: Forwarded,
  { reason, isFinal }: { reason: string; isFinal: boolean },
): Promise<void> {
  const waitMs = Math.min(limits.deliveryRetryMs * 2 ** (attempt - 1), limits.deliveryRetryMostMs);
  await db
    .update(webhookDeliveries)
    .set({
      ...{ status: "failed", reason, leaseUntil: inSeconds(waitMs), finishedAt: sql`now()` },
      ...(isFinal ? { attempts: sql`greatest(attempts, ${limits.deliveryAttempts})` } : {}),
    })
    .where(ofOwner(id, attempt));
}

function ofOwner(id: string, attempt: number) {
  return and(
    eq(webhookDeliveries.id, id),
    eq(webhookDeliveries.attempts, attempt),
    eq(webhookDeliveries.status, "claimed"),
  );
}

export async function linkedUrl(db: Queryable, organizationId: string | null): Promise<string | null> {
  const [row] = await db
    .select({ url: cloudLinks.url })
    .from(cloudLinks)
    .where(eq(cloudLinks.organizationId, organizationId ?? ""));
  return row?.url ?? null;
}
