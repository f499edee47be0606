/**
 * The delivery inbox: a verified delivery is stored and claimed, then handled, and its outcome is written together with
 * the deployments that follow. Whatever happens in between, the row is there and says how far it came; the sweeper
 * takes up what was left over.
 */
import type { DeliveryReplay } from "../../shared/domain/delivery.ts";
import { limits } from "../../shared/domain/limits.ts";
import type {
  Claim,
  DeliveryPlan,
  LinkedProject,
  Reclaimed,
  SettledDelivery,
  Trust,
  VerifiedDelivery,
} from "../../shared/ports/edge-store.ts";
import type { EdgeOptions } from "../edge-options.ts";
import { planDelivery } from "./git-push.ts";
import type { Verified } from "./resolve-secret.ts";
import { readDelivery } from "./signature.ts";

type InboxOptions = Pick<EdgeOptions, "store" | "nudge" | "log">;

export type Received =
  | { result: "settled"; status: SettledDelivery["status"] }
  | { result: "duplicate" }
  | { result: "failed" }
  /** Nothing is stored: it was verified by what does not hold any more. */
  | { result: "changed" };

/** Rejects only when the delivery could not be stored; from then on every failure is a row to be tried again. */
export async function receive(
  options: InboxOptions,
  delivery: VerifiedDelivery,
  payload: unknown,
  { projects, lookUp }: Pick<Verified, "projects" | "lookUp">,
): Promise<Received> {
  const organizationIds = [...new Set(projects.map((project) => project.organizationId))].sort();
  const rows = organizationIds.length === 0 ? [null] : organizationIds;
  const ignored = ignoredBy(rows, delivery, payload, projects);
  const claims = await options.store.inbox.claim(delivery, rows, ignored, lookUp);
  if (claims === "changed") return { result: "changed" };
  if (claims.length === 0) return { result: "duplicate" };
  const results = await Promise.all(
    claims.map((claim) =>
      ignored.has(claim.organizationId)
        ? "ignored"
        : handle(options, claim, delivery, payload, of(claim, projects)),
    ),
  );
  if (results.includes("failed")) return { result: "failed" };
  const status = (["done", "received"] as const).find((each) => results.includes(each)) ?? "ignored";
  return { result: "settled", status };
}

/** Organizations for which nothing follows: most of what comes, and not worth a second write. */
function ignoredBy(
  rows: readonly (string | null)[],
  { event }: VerifiedDelivery,
  payload: unknown,
  projects: readonly LinkedProject[],
): Map<string | null, DeliveryPlan> {
  const ignored = new Map<string | null, DeliveryPlan>();
  for (const organizationId of rows) {
    try {
      const plan = planDelivery(event, payload, of({ organizationId }, projects));
      if (plan.outcomes.every(({ verdict }) => verdict === "skipped")) ignored.set(organizationId, plan);
    } catch {
      // It is stored all the same; `handle` meets the mistake again, and says so in the row.
    }
  }
  return ignored;
}

/**
 * Takes up all deliveries that failed or whose owner went away; the composition root calls it every 30 seconds. Each is
 * taken up once: what fails here again has to wait for its time. A stop waits for the few that were taken, and no backlog.
 */
export async function sweepDeliveries(options: InboxOptions, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && (await sweepSome(options)) === sweptAtOnce);
}

async function sweepSome(options: InboxOptions): Promise<number> {
  const leftOver = await options.store.inbox.reclaim(sweptAtOnce);
  for (const each of leftOver) await handleAgain(options, each);
  return leftOver.length;
}

/** Handles a stored delivery again because a person asked for it; false: it is being handled right now. */
export async function replayDelivery(
  options: InboxOptions,
  id: string,
  replay: DeliveryReplay,
): Promise<boolean> {
  const claimed = await options.store.inbox.replay(id, replay);
  if (claimed === null) return false;
  await handleAgain(options, claimed);
  return true;
}

/** From the bytes as they came, with the projects of now and the trust of then. */
async function handleAgain(options: InboxOptions, { delivery, replay, ...claim }: Reclaimed): Promise<void> {
  const { organizationId } = claim;
  const trust: Trust =
    delivery.verdict === "instance_secret"
      ? { by: "instance_secret" }
      : { by: "project_secret", organizationIds: organizationId === null ? [] : [organizationId] };
  try {
    const { repository, payload } = readDelivery(delivery.body);
    const linked = repository === null ? [] : await options.store.inbox.linkedProjects(repository, trust);
    const projects = linked.filter(({ id }) => replay?.projectIds?.includes(id) ?? true);
    await handle(options, claim, delivery, payload, of(claim, projects));
  } catch (error) {
    await failed(options, claim, error);
  }
}

/** Bodies are up to 5 MiB each: few at a time. */
const sweptAtOnce = 8;

async function handle(
  options: InboxOptions,
  claim: Claim,
  delivery: VerifiedDelivery,
  payload: unknown,
  projects: readonly LinkedProject[],
): Promise<SettledDelivery["status"] | "failed"> {
  try {
    const settled = await options.store.inbox.settle(claim, planDelivery(delivery.event, payload, projects));
    // Taken over meanwhile: whoever has it now answers for it.
    if (settled === null) return "ignored";
    for (const { id, projectId } of settled.deployments) {
      options.log.info({ operationId: id, projectId, deliveryRow: claim.id }, "a push made a deployment");
      nudge(options, id, projectId);
    }
    return settled.status;
  } catch (error) {
    await failed(options, claim, error);
    return "failed";
  }
}

function of({ organizationId }: Pick<Claim, "organizationId">, projects: readonly LinkedProject[]) {
  return projects.filter((project) => project.organizationId === organizationId);
}

/** The deployment is committed: without the nudge it only starts a little later. */
function nudge({ nudge: send, log }: InboxOptions, operationId: string, projectId: string): void {
  send({ operationId, projectId }).catch((error: unknown) => {
    log.warn({ err: error, operationId }, "the deploy function could not be nudged");
  });
}

async function failed({ store, log }: InboxOptions, claim: Claim, error: unknown): Promise<void> {
  log.error({ err: error, deliveryRow: claim.id, attempt: claim.attempt }, "a delivery could not be handled");
  try {
    await store.inbox.fail(claim, "handler_failed");
  } catch (second) {
    // The claim runs out by itself after `limits.deliveryLeaseMs`; then the sweeper has it.
    log.error(
      { err: second, deliveryRow: claim.id, leaseMs: limits.deliveryLeaseMs },
      "nor marked as failed",
    );
  }
}
