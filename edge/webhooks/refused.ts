/**
 * GET /api/webhooks/deliveries/refused: who is turned away, and how often. Sources are addresses of anybody, so that only
 * those who run the instance see them. It answers for the process that is asked, and says so.
 */
import type { Context } from "hono";
import type { listRefusedDeliveries } from "../../shared/contract/deliveries.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import type { EdgeEnv } from "../edge-options.ts";
import type { Counters } from "./counters.ts";

type Answer =
  (typeof listRefusedDeliveries.responses)[200]["content"]["application/json"]["schema"]["_output"];

export async function answerRefused(c: Context<EdgeEnv>, counters: Counters): Promise<Response> {
  // No function asks the database here.
  const identity = await c.get("askAgain")();
  if (identity === null)
    throw new Refusal("unauthenticated", "unauthenticated", "This credential does not hold any more.");
  if (!runsTheInstance(identity))
    throw new Refusal(
      "forbidden",
      "not_of_the_instance",
      "This needs the permission organization:admin, by a token that is not narrowed.",
    );
  const limit = limitOf(c.req.query("limit"));
  const since = new Date(counters.sinceMs()).toISOString();
  const refused = counters
    .list()
    .filter(({ minute }) => Date.parse(minute) + 60_000 > counters.sinceMs())
    .slice(0, limit);
  const answer: Answer = { data: { countedBy: "process", since, refused } };
  return Response.json(answer);
}

function runsTheInstance({ permissions, projectIds, serverIds }: Identity): boolean {
  return permissions.includes("organization:admin") && projectIds === null && serverIds === null;
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return limits.pageDefault;
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= limits.deliveriesMost) return limit;
  throw invalid("query.limit", `must be a whole number from 1 to ${limits.deliveriesMost}`);
}
