/**
 * Taking in a project that another instance promotes here: all of it in one request, so that there is no half of it, and
 * under the id that it has there, so that a request which is made again finds what the first one made.
 */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { id } from "./common.ts";
import { newDomain } from "./domains.ts";
import { envKey, envValue } from "./project-env.ts";
import { newProject } from "./projects.ts";
import { body, data, json, route } from "./route.ts";
import { newService } from "./services.ts";

const promotion = z.strictObject({
  originProjectId: id.openapi({ description: "Id of the project on the instance that it comes from" }),
  project: newProject.omit({ serverId: true }),
  connectionBaseUrl: z.string().max(500).optional().openapi({
    description:
      "The repository needs a credential of this git host; a git connection for it must be here already",
  }),
  env: z.record(envKey, envValue).default({}),
  services: z.array(newService).max(limits.servicesMost).default([]),
  domains: z.array(newDomain).max(limits.promotedDomains).default([]),
  webhookSecret: z
    .string()
    .min(limits.webhookSecretLength)
    .max(500)
    .regex(/^[\x21-\x7e]+$/, "must be visible ASCII characters")
    .optional()
    .openapi({ description: "The secret that the git host signs with; it stays the same on both sides" }),
});

export type Promotion = z.infer<typeof promotion>;

const takenIn = z.object({
  projectId: id,
  hookId: id.nullable().openapi({
    description:
      "What the project's webhook URL here carries as ?hook=; pushes are forwarded with it, so that its secret is tried first. null: it has no hook secret",
  }),
});

export const promoteProject = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/promotions",
    summary: "Take in a project of another instance; nothing is deployed yet",
    description:
      "Made for instances that are linked to this one. All or nothing. Again with the same originProjectId: the same project (200), brought up to date unless it is live. It is placed on the newest bootstrapped server of the organization, else on the pool of whoever runs this cloud; 409 where there is neither. Contents of volumes do not come along.",
    request: { body: body(promotion) },
    responses: {
      200: json("It was here already", data(takenIn)),
      201: json("The new project", data(takenIn)),
    },
  },
);
