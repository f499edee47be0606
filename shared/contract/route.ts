/**
 * One object a route: method, path, permission tag, serving module, schemas. Everything else is derived from it: the
 * edge's table, the functions' handlers, the OpenAPI document, the typed client and the generated tests.
 * Rejected: decorators on handlers (the edge could not read them without importing the functions).
 */
import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { Permission } from "../domain/permission.ts";
import type { ModuleName } from "../ports/forwarder.ts";
import { errorBody } from "./common.ts";

export interface RoutePolicy {
  /** Serves it: a function behind the edge, or the edge itself. */
  module: ModuleName | "edge";
  /**
   * The tag that a caller needs; `public` means no credential of the usual kind, `member` any credential that holds,
   * `session` a person who signed in, whatever the role.
   */
  permission: Permission | "public" | "member" | "session";
  /** Modes in which it is mounted; elsewhere every spelling of its path is 404. Default both. */
  modes?: readonly ("self-hosted" | "cloud")[];
  /** The body is JSON within the common cap, unless it says otherwise. */
  body?: "json" | "raw";
  /** Counts tries of secrets: a few a minute from one source (429). */
  limit?: "tries";
  /** Answers with server-sent events. */
  stream?: boolean;
}

const refusals = {
  400: "The request is not valid, or the operation cannot run",
  401: "No credential, or one that does not hold",
  403: "The credential may not do this",
  404: "Absent, deleted or of another organization",
  409: "In conflict with the present state",
  429: "Too many requests",
  502: "The server behind us could not be reached, or refused",
} as const;

/** Makes a route object: what `createRoute` makes, with the policy beside it and the common error answers added. */
export function route<P extends string, R extends Omit<RouteConfig, "path"> & { path: P }>(
  policy: RoutePolicy,
  config: R,
) {
  const responses = { ...config.responses };
  for (const [status, description] of Object.entries(refusals)) {
    responses[status] ??= { description, content: { "application/json": { schema: errorBody } } };
  }
  const made = createRoute({
    ...config,
    ...(policy.permission === "public"
      ? {}
      : {
          security: policy.permission === "session" ? [{ session: [] }] : [{ bearer: [] }, { session: [] }],
        }),
    "x-permission": policy.permission,
  } as R);
  return Object.assign(made, { policy, documented: responses });
}

export type Route = ReturnType<typeof route>;

/** `{ "data": … }`, the shape of every success that spec.md does not print. */
export function data<S extends z.ZodType>(schema: S) {
  return z.object({ data: schema });
}

/** `{ "data": [ … ], "nextCursor": … }`, newest first. */
export function page<S extends z.ZodType>(schema: S) {
  return z.object({
    data: z.array(schema),
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: "Pass as `cursor` for the next page; null at the end." }),
  });
}

/** A JSON answer. */
export function json<S extends z.ZodType>(description: string, schema: S) {
  return { description, content: { "application/json": { schema } } };
}

/** A JSON body that must be there. */
export function body<S extends z.ZodType>(schema: S) {
  return { required: true, content: { "application/json": { schema } } };
}
