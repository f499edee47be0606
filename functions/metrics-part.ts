/**
 * The metrics of one part, on a port of its own: several processes are several stories, and only a monitor beside them
 * can ask each. That port is never behind the edge or a load balancer, and asks all the same for what the edge's
 * route asks for: a token with organization:read. Not in the cloud, where tokens are customers' and the instance is not.
 * Rejected: the part's own port (the cloud's load balancer passes every path on) and a port that trusts its network.
 */
import { randomUUID } from "node:crypto";
import { type Served, serveEdge } from "../edge/node.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { hashToken, isToken } from "../shared/crypto/token.ts";
import type { Database } from "../shared/db/database.ts";
import { permissionsOf } from "../shared/domain/permission.ts";
import { notFound, Refusal } from "../shared/domain/refusal.ts";
import { refusalResponse } from "../shared/http/refusal-response.ts";
import type { EdgeStore } from "../shared/ports/edge-store.ts";
import { exposition, type Metrics } from "../shared/ports/metrics.ts";
import type { StartPart } from "./module-part.ts";

/** Undefined: nobody has asked for a port (SLIPWAY_METRICS_PORT). */
export async function serveMetrics(
  { configuration: { host }, settings: { metricsPort }, log }: StartPart,
  db: Database,
  metrics: Metrics,
): Promise<Served | undefined> {
  if (metricsPort === undefined) return undefined;
  const store = createPostgresEdgeStore(db);
  const fetch = async (request: Request): Promise<Response> => {
    try {
      if (new URL(request.url).pathname !== "/metrics" || request.method !== "GET") throw notFound();
      await requireReader(store, request);
      return new Response(await metrics.expose(), { headers: { "content-type": exposition } });
    } catch (error) {
      return refusalResponse(error, { log, requestId: randomUUID() });
    }
  };
  return serveEdge({ app: { fetch }, host, port: metricsPort });
}

async function requireReader(store: EdgeStore, request: Request): Promise<void> {
  const [, token = ""] = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  const found = isToken(token) ? await store.findCredential(await hashToken(token)) : null;
  if (found === null) {
    const message = "This needs an access token that holds: `Authorization: Bearer slp_…`.";
    throw new Refusal("unauthenticated", "unauthenticated", message);
  }
  if (!permissionsOf(found.role, found.permissions).has("organization:read")) {
    throw new Refusal("forbidden", "forbidden", "This needs the permission organization:read.");
  }
  // Else it looks like a token that nobody uses. (Written once a minute at most.)
  await store.touchCredential(found.id);
}
