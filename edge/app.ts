/**
 * The one way in, the same app on both hosts. Every route of the contract goes through the same gates in the same
 * order: mode and path 404 → token 401 → tag 403 → rate 429 → size 413 → the edge itself or a function.
 * What is not in the contract's table does not exist, except for the pages for people.
 */
import { type Context, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { listRefusedDeliveries } from "../shared/contract/deliveries.ts";
import type { Route } from "../shared/contract/route.ts";
import * as system from "../shared/contract/system.ts";
import { receiveWebhook } from "../shared/contract/webhooks.ts";
import { notFound } from "../shared/domain/refusal.ts";
import { refusalResponse } from "../shared/http/refusal-response.ts";
import type { EdgeEnv, EdgeOptions } from "./edge-options.ts";
import { addPages } from "./pages/pages.ts";
import { answerOnce } from "./router/answer-once.ts";
import { authenticate } from "./router/authenticate.ts";
import { forward } from "./router/forward.ts";
import { authorize, limitBody, limitRate, rateHeaders } from "./router/gates.ts";
import { createRouteTable, type MatchRoute } from "./router/match-route.ts";
import { observeRequests } from "./router/observe.ts";
import { parseTrustedProxies, sourceIp } from "./router/source-ip.ts";
import { answerHealth, answerReady, answerVersion } from "./system.ts";
import { type Counters, counted, createCounters } from "./webhooks/counters.ts";
import { receiveDelivery } from "./webhooks/ingress.ts";
import { answerRefused } from "./webhooks/refused.ts";
import { createRejections } from "./webhooks/rejections.ts";

export type EdgeApp = Hono<EdgeEnv>;

export function createEdge(given: EdgeOptions): EdgeApp {
  const { clock, metrics, counters = createCounters(() => clock.nowMs()) } = given;
  const options = {
    ...given,
    counters: metrics === undefined ? counters : counted(counters, metrics),
    rejections: given.rejections ?? createRejections(() => clock.nowMs()),
  };
  const app = new Hono<EdgeEnv>();
  app.onError((error, c) => answerError(error, c, options));
  app.use(requestFacts(options));
  addPages(app, options.version);
  app.all(
    "*",
    match(createRouteTable(options.mode)),
    authenticate(options),
    authorize(),
    limitRate(options),
    limitBody(options),
    answerOnce(options, serve(options)),
  );
  return app;
}

/** Before everything: who is on the other end, under which id this request is logged, and what every answer carries. */
function requestFacts(options: EdgeOptions) {
  const trusted = parseTrustedProxies(options.trustedProxies);
  const observe = observeRequests(options);
  return createMiddleware<EdgeEnv>(async (c, next) => {
    const startedMs = options.clock.nowMs();
    c.set("requestId", `req_${crypto.randomUUID().replaceAll("-", "")}`);
    const forwardedFor = c.req.header("x-forwarded-for") ?? null;
    c.set("sourceIp", sourceIp(c.env?.remoteAddress, forwardedFor, trusted));
    await next();
    const { headers } = c.res;
    headers.set("x-request-id", c.get("requestId"));
    headers.set("x-content-type-options", "nosniff");
    headers.set("referrer-policy", "no-referrer");
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
    const cookie = c.get("cookie");
    if (cookie !== undefined && !headers.has("set-cookie")) headers.append("set-cookie", cookie);
    const limited = c.get("limited");
    if (limited !== undefined)
      for (const [name, value] of Object.entries(rateHeaders(limited))) headers.set(name, value);
    observe(c, startedMs);
  });
}

function match(matchRoute: MatchRoute) {
  return createMiddleware<EdgeEnv>(async (c, next) => {
    const isHead = c.req.method === "HEAD";
    const matched = matchRoute(isHead ? "GET" : c.req.method, new URL(c.req.url).pathname);
    // A stream would stay open behind a HEAD that nobody reads.
    if (matched === null || (isHead && matched.route.policy.stream === true)) throw notFound();
    c.set("matched", matched);
    await next();
  });
}

function serve(options: EdgeOptions & { counters: Counters }) {
  const own = new Map<Route, (c: Context<EdgeEnv>) => Response | Promise<Response>>([
    [system.health, answerHealth],
    [system.ready, () => answerReady(options)],
    [system.version, () => answerVersion(options)],
    [receiveWebhook, receiveDelivery(options)],
    [listRefusedDeliveries, (c) => answerRefused(c, options.counters)],
  ]);
  return async (c: Context<EdgeEnv>): Promise<Response> => {
    const { route } = c.get("matched");
    const { module } = route.policy;
    if (module !== "edge") return forward(c, module, options);
    const handler = own.get(route);
    if (handler === undefined) throw new Error(`no handler for ${route.method} ${route.path}`);
    return handler(c);
  };
}

function answerError(error: unknown, c: Context<EdgeEnv>, { log }: EdgeOptions): Response {
  const ofDeployments = /^\/api\/deployments(\/|$)/.test(c.req.path);
  const requestId = c.get("requestId");
  // The caller went away while the body was still coming: nobody reads the answer and nothing here is wrong.
  if (c.req.raw.signal.aborted && !(error instanceof Error && error.name === "Refusal")) {
    log.debug({ err: error, requestId }, "the caller went away");
    return new Response(null, { status: 400 });
  }
  return refusalResponse(error, { log, requestId, ...(ofDeployments ? { success: false as const } : {}) });
}
