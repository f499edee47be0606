/** Host names of a project, and where they lead. */
import { z } from "@hono/zod-openapi";
import { deleted, hostname, id, idParameter, pageQuery, port, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const domain = z
  .object({
    id,
    hostname: z.string(),
    port: port.nullable(),
    targetPath: z.string().nullable(),
    redirectTo: z.string().nullable(),
    url: z.string(),
    createdAt: time,
  })
  .openapi("Domain");

const targetPath = z
  .string()
  .max(500)
  .regex(/^\/[A-Za-z0-9._~/-]*$/, "must start with / and hold letters, digits and ._~/-");

export const newDomain = z.strictObject({
  hostname,
  port: port.optional(),
  targetPath: targetPath.optional(),
  redirectTo: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .refine((value) => !/[\p{Cc} {}]/u.test(value), "must be a plain http or https URL")
    .optional(),
});

export const listDomains = route(
  { module: "platform", permission: "project:read" },
  {
    method: "get",
    path: "/api/projects/{id}/domains",
    summary: "Host names of the project",
    request: { params: idParameter, query: pageQuery },
    responses: { 200: json("Domains", page(domain)) },
  },
);

export const createDomain = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/projects/{id}/domains",
    summary: "Attach a host name; it answers at once when the project is live",
    request: {
      params: idParameter,
      body: body(newDomain),
    },
    responses: { 201: json("The domain", data(domain)) },
  },
);

export const deleteDomain = route(
  { module: "platform", permission: "project:write" },
  {
    method: "delete",
    path: "/api/projects/{id}/domains/{domainId}",
    summary: "Detach a host name",
    request: { params: idParameter.extend({ domainId: id }) },
    responses: { 200: json("Detached", deleted) },
  },
);
