/**
 * Ends a deployment that is under way. The owner of the work ends it and proves it gone before `cancelled` is written;
 * this waits for that, for ten seconds, and says whether it saw it (decisions.md section 4: 200 once proven, else 202).
 */
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database } from "../../shared/db/database.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { requestCancel } from "../../shared/operations/cancel.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import { cannotRun } from "./create.ts";
import type { DeploymentKind } from "./deployment-kind.ts";
import { assertAdmin } from "./roll-back.ts";
import { type DeploymentView, viewOf } from "./store.ts";

export interface CancelParts {
  db: Database;
  clock: Clock;
  kind: DeploymentKind;
}

const waitMs = 10_000;
const lookMs = 100;

export async function cancel(
  { db, clock, kind }: CancelParts,
  principal: Principal,
  id: string,
  signal: AbortSignal,
): Promise<{ view: DeploymentView; proven: boolean }> {
  await load(db, principal, "deployment", id);
  assertAdmin(principal);
  const answer = await requestCancel(db, kind, id);
  if (answer === "final") {
    throw cannotRun("already_over", "This deployment is over already; there is nothing to cancel.");
  }
  if (answer === "too_late" || answer === "absent") {
    throw cannotRun("already_live", "The new version is live already; roll back instead.");
  }
  await writeAudit(db, principal, { action: "deployment.cancelled", resource: { kind: "deployment", id } });
  const deadlineMs = clock.nowMs() + waitMs;
  let view = await viewOf(db, id);
  while (!view.final && clock.nowMs() < deadlineMs) {
    await clock.sleep(lookMs, signal);
    view = await viewOf(db, id);
  }
  return { view, proven: view.final };
}
