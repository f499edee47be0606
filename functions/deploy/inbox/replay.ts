/**
 * A person has a delivery handled once more: from the bytes as they came, with the projects of now and the trust of then.
 * What comes of it stands in the same row; who asked is in the row and in the audit (docs/decisions/0012).
 */
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Database, Queryable } from "../../../shared/db/database.ts";
import { seenProjects } from "../../../shared/db/narrowing.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { DeliveryReplay } from "../../../shared/domain/delivery.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import { deliveryRow } from "./rows.ts";
import { type DeliveryDetail, showDelivery } from "./show.ts";

/** Handles the delivery as the ingress does; false: it is being handled, or waits to be for more projects than these. */
export type Redeliver = (id: string, replay: DeliveryReplay) => Promise<boolean>;

export interface ReplayParts {
  db: Database;
  clock: Pick<Clock, "nowMs">;
  redeliver: Redeliver;
}

export async function replay(
  { db, clock, redeliver }: ReplayParts,
  principal: Principal,
  id: string,
  force: boolean,
): Promise<{ detail: DeliveryDetail; started: boolean }> {
  refuseWithoutDeploying(principal);
  await deliveryRow(db, principal, id);
  const projectIds = await onlySeen(db, principal);
  const at = new Date(clock.nowMs()).toISOString();
  if (!(await redeliver(id, { by: principal.userId, at, force, projectIds }))) {
    throw new Refusal(
      "conflict",
      "being_handled",
      "This delivery is being handled right now, or a failed one is tried again by itself; look at it again.",
    );
  }
  const resource = { kind: "webhook_delivery", id };
  await writeAudit(db, principal, {
    action: "webhook_delivery.replayed",
    resource,
    fields: force ? ["force"] : [],
  });
  const detail = await showDelivery(db, principal, id);
  return { detail, started: detail.status === "done" || detail.status === "received" };
}

/** The route's tag is webhook:write; what follows are deployments. */
function refuseWithoutDeploying({ permissions }: Principal): void {
  if (permissions.has("deployment:write")) return;
  throw new Refusal(
    "forbidden",
    "forbidden",
    "A replay makes deployments, so that it also needs the permission deployment:write.",
  );
}

/** A narrowed token replays for its own projects, whatever else the repository belongs to. */
async function onlySeen(db: Queryable, principal: Principal): Promise<string[] | null> {
  const seen = seenProjects(principal);
  if (seen === undefined) return null;
  const rows = await db.select({ id: projects.id }).from(projects).where(seen);
  return rows.map(({ id }) => id);
}
