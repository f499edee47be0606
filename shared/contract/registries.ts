/** Credentials for private images. They go in and never come out; every build of the organization may use them. */
import { z } from "@hono/zod-openapi";
import { deleted, id, idParameter, name, pageQuery, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const host = z
  .string()
  .max(260)
  .regex(
    /^(?=.{1,253}(:|$))[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*(:[0-9]{1,5})?$/,
    "must be a host name, with a port where it is not 443",
  )
  .refine((value) => Number(/:(\d+)$/.exec(value)?.[1] ?? 443) < 65_536, "has no such port")
  .refine((value) => /[.:]/.test(value) || value === "localhost", "must have a dot or a port")
  .openapi({
    description:
      "As it stands in front of an image: `registry.example.com`, `registry.example.com:5000`, `docker.io`",
  });

const username = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^:\p{Cc}\p{Cs}]+$/u, "must not contain a colon or control characters");

const secret = z
  .string()
  .min(1)
  .max(10_000)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, "must be one line without control characters")
  .openapi({ description: "Password or token" });

export const registry = z
  .object({
    id,
    name,
    host: z.string(),
    username: z.string(),
    secret: z.object({
      set: z.literal(true),
      last4: z.string().openapi({ description: "Empty where the secret is shorter than 12 characters" }),
    }),
    createdAt: time,
  })
  .openapi("Registry");

export const createRegistry = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/registries",
    summary: "Add a credential for the private images of a registry; nothing is contacted yet",
    description:
      "One a registry. A build whose Dockerfile names the registry is given it, for that build alone; `docker.io` is given to every build.",
    request: { body: body(z.strictObject({ name, host, username, secret })) },
    responses: { 201: json("The registry", data(registry)) },
  },
);

export const listRegistries = route(
  { module: "platform", permission: "project:read" },
  {
    method: "get",
    path: "/api/registries",
    summary: "Registries of the organization",
    request: { query: pageQuery },
    responses: { 200: json("Registries", page(registry)) },
  },
);

export const deleteRegistry = route(
  { module: "platform", permission: "project:admin" },
  {
    method: "delete",
    path: "/api/registries/{id}",
    summary: "Forget a registry and its secret; later builds pull without it",
    request: { params: idParameter },
    responses: { 200: json("Forgotten", deleted) },
  },
);

export const checkRegistry = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/registries/{id}/check",
    summary: "Ask the registry whether the credential holds; a failure is the answer, not an error",
    description:
      "Asked by the container engine of a server, since that is what pulls: `serverId`, or else the newest server that is set up. The engine speaks the registry's v2 API, with a token where the registry asks for one. It says whether the credential holds, not which images it may pull.",
    request: { params: idParameter, query: z.object({ serverId: id.optional() }) },
    responses: {
      200: json(
        "What was found",
        data(
          z.object({
            ok: z.boolean(),
            error: z.string().optional(),
            code: z.string().optional(),
            serverId: id.nullable().openapi({ description: "The server that was asked" }),
          }),
        ),
      ),
    },
  },
);
