/**
 * One line in the log and one count for each request, once its answer has begun. Both name the route's pattern, never
 * the path or the query, which may carry ids, and secrets of a confused caller. The line is of level debug: at info it
 * would cost a busy ingress more than the request itself, and what goes wrong has lines of its own.
 */
import type { Context } from "hono";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";

/** Most answers come from one statement; an upload takes minutes. */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** Methods that anyone may invent must not become labels. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export function observeRequests({ metrics, log, clock }: EdgeOptions) {
  const requests = metrics?.counter({
    name: "slipway_http_requests_total",
    help: "Requests by method, route and status of the answer.",
  });
  const durations = metrics?.histogram({
    name: "slipway_http_request_duration_seconds",
    help: "Time until the answer began, by route.",
    buckets: seconds,
  });
  return (c: Context<EdgeEnv>, startedMs: number): void => {
    const ms = Math.max(0, clock.nowMs() - startedMs);
    const method = knownMethods.has(c.req.method) ? c.req.method : "other";
    // Set only once a route was found: everything else is one series.
    const matched = c.get("matched") as EdgeEnv["Variables"]["matched"] | undefined;
    const route = matched?.route.path ?? "none";
    const { status } = c.res;
    requests?.add({ method, route, status: String(status) });
    durations?.observe({ route }, ms / 1000);
    log.debug({ requestId: c.get("requestId"), method, route, status, ms }, "answered");
  };
}
