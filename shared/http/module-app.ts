/**
 * The shell of every function: who is calling, is the request well formed, what does a failure look like. A module adds
 * its routes and nothing else. The identity comes from the edge, signed, or in one process as an object; headers of
 * callers are never believed. Order: identity 401 → tag 403 → form of the body 400 → path, query, body 400 → handler.
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import type { ZodError } from "zod";
import { allRoutes } from "../contract/all-routes.ts";
import type { Route } from "../contract/route.ts";
import { isId } from "../domain/identifier.ts";
import type { Identity, Principal } from "../domain/principal.ts";
import { Refusal } from "../domain/refusal.ts";
import type { ModuleName } from "../ports/forwarder.ts";
import type { Log } from "../ports/log.ts";
import { refusalResponse } from "./refusal-response.ts";
import { refuseHostileText } from "./refuse-hostile-text.ts";

export interface ModuleEnv {
  Bindings: {
    /** Set only by the in-process forwarder: an object cannot arrive over the network. */
    identity?: Identity;
  };
  Variables: {
    /** What the edge says; on public routes nothing but where from. */
    identity: Identity;
    /** Not on public routes. */
    principal: Principal;
    requestId: string;
  };
}

export type ModuleApp = OpenAPIHono<ModuleEnv>;

export interface ModuleAppOptions {
  module: ModuleName;
  /** Checks the signed token of a request that came over HTTP; throws a `Refusal` when it does not hold. */
  verifyIdentity: (request: Request) => Promise<Identity>;
  /** Asks the database who this is now: a revoked token or a lost membership is refused. */
  admit: (identity: Identity) => Promise<Principal>;
  log: Log;
}

export function createModuleApp(options: ModuleAppOptions): ModuleApp {
  const success = options.module === "deploy" ? { success: false as const } : {};
  const app = new OpenAPIHono<ModuleEnv>({
    defaultHook: (result) => {
      if (!result.success) throw validationRefusal(result.target, result.error as ZodError);
    },
  });
  app.onError((error, c) =>
    refusalResponse(error, { log: options.log, requestId: c.get("requestId") ?? "-", ...success }),
  );
  app.notFound((c) => {
    const refusal = new Refusal(
      "not_found",
      "not_found",
      "There is no such thing here, or you may not see it.",
    );
    return refusalResponse(refusal, { log: options.log, requestId: c.get("requestId") ?? "-", ...success });
  });
  app.use(identification(options));
  for (const route of allRoutes.filter((each) => each.policy.module === options.module)) {
    const [method, path] = [route.method.toUpperCase(), route.getRoutingPath()];
    if (route.policy.permission !== "public") app.on(method, path, admission(options), permissionGate(route));
    app.on(method, path, refuseHostileText(route));
  }
  return app;
}

function identification(options: ModuleAppOptions) {
  return createMiddleware<ModuleEnv>(async (c, next) => {
    const identity = c.env?.identity ?? (await options.verifyIdentity(c.req.raw));
    c.set("requestId", identity.requestId);
    c.set("identity", identity);
    await next();
  });
}

function admission(options: ModuleAppOptions) {
  return createMiddleware<ModuleEnv>(async (c, next) => {
    c.set("principal", await options.admit(c.get("identity")));
    await next();
  });
}

/** The edge has checked the tag already; the function does not take its word for it. */
function permissionGate(route: Route) {
  return createMiddleware<ModuleEnv>(async (c, next) => {
    const needed = route.policy.permission;
    if (needed === "session" && !isId("session", c.get("principal").credentialId)) {
      throw new Refusal(
        "forbidden",
        "session_needed",
        "This is for a person who is signed in, not for an access token.",
      );
    }
    if (
      needed !== "public" &&
      needed !== "session" &&
      needed !== "member" &&
      !c.get("principal").permissions.has(needed)
    ) {
      throw new Refusal("forbidden", "forbidden", `This needs the permission ${needed}.`);
    }
    await next();
  });
}

const places: Record<string, string> = { param: "path", query: "query", json: "body", header: "header" };

function validationRefusal(target: string, error: ZodError): Refusal {
  const place = places[target] ?? target;
  const details = error.issues.flatMap((issue) => {
    const at = [place, ...issue.path.map(String)];
    const keys = issue.code === "unrecognized_keys" ? issue.keys : null;
    return keys === null
      ? [{ path: at.join("."), message: issue.message }]
      : keys.map((key) => ({ path: [...at, key].join("."), message: "is not a field of this request" }));
  });
  const first = details[0];
  const sentence = first === undefined ? "The request is not valid." : `${first.path}: ${first.message}`;
  return new Refusal("validation", "validation_failed", sentence, { details: details.slice(0, 50) });
}
