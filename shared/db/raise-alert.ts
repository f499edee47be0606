/**
 * How something is told: one row in the outbox, in the transaction of what happened, so that there is never an alert of
 * what was rolled back, nor something that happened without its alert. Who hears of it, and how, is decided afterwards
 * by the notify module. Rejected: sending from here (a slow mail server would hold up a deployment).
 */
import { sql } from "drizzle-orm";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { type CategoryId, categoryOf } from "../domain/notification.ts";
import type { Queryable } from "./database.ts";
import { alerts } from "./notification-tables.ts";

/** NOTIFY: an alert or a delivery waits. A hint only; the payload says nothing. */
export const alertsChannel = "notify_due";

export interface Alert {
  organizationId: string;
  category: CategoryId;
  /** One line. */
  title: string;
  /** What happened, and what to do about it. */
  message: string;
  /** Path on the platform where it can be seen. */
  link?: string;
  resource: { type: string; id: string };
  projectId?: string;
  serverId?: string;
  /** Whom it is about: told whatever the role. */
  userId?: string;
}

export async function raiseAlert(tx: Queryable, alert: Alert): Promise<void> {
  const { resource, title, message, ...row } = alert;
  await tx.insert(alerts).values({
    id: newId("alert"),
    ...row,
    severity: categoryOf(alert.category)?.severity ?? "info",
    title: plain(title, limits.alertTitleLength).replaceAll(/\s+/g, " "),
    message: plain(message, limits.alertMessageLength),
    resourceType: resource.type,
    resourceId: resource.id,
  });
  await tx.execute(sql`select pg_notify(${alertsChannel}, '')`);
}

/** Names and errors come from far away: well formed, bounded, and no control character but the line break. */
function plain(text: string, length: number): string {
  return text
    .toWellFormed()
    .replaceAll("\r", "")
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .slice(0, length)
    .toWellFormed();
}
