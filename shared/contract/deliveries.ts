/** The delivery inbox: what git hosts sent, what came of it for each project, and why not (decisions.md section 5). */
import { z } from "@hono/zod-openapi";
import { deliveryStatuses, deliveryVerdicts } from "../domain/delivery.ts";
import { deploymentStatuses } from "../domain/deployment.ts";
import { limits } from "../domain/limits.ts";
import { branch, cursor, id, idParameter, time } from "./common.ts";
import { data, json, page, route } from "./route.ts";

const reason = z.string().nullable().openapi({ description: "Stable, snake_case; null when it deployed" });
const message = z.string().nullable().openapi({ description: "The reason in a sentence" });
const repository = z.string().openapi({ description: "`owner/repo` in lower case" });

const fields = {
  id,
  provider: z.string(),
  deliveryId: z.string().openapi({ description: "The git host's id, or `sha256:` of the body" }),
  event: z.string().nullable(),
  repository: repository.nullable(),
  branch: z.string().nullable(),
  commitSha: z.string().nullable(),
  status: z.enum(deliveryStatuses),
  verdict: z.enum(deliveryVerdicts).nullable().openapi({ description: "Whose secret made the signature" }),
  reason,
  message,
  attempts: z.number().int(),
  projects: z.array(
    z.object({
      projectId: id,
      name: z.string(),
      verdict: z.enum(["deployed", "skipped", "forwarded"]).openapi({
        description:
          "`forwarded`: it belongs to the linked cloud; `reason` of the delivery says how far it came",
      }),
      reason,
      message,
      deploymentId: id.nullable(),
    }),
  ),
  replay: z
    .object({ by: id, at: time, force: z.boolean() })
    .nullable()
    .openapi({ description: "The last time that a person had it handled again" }),
  receivedAt: time,
  finishedAt: time.nullable(),
};

export const webhookDelivery = z.object(fields).openapi("WebhookDelivery");

const commit = z.object({
  id: z.string().optional(),
  message: z.string().optional(),
  timestamp: z.string().optional(),
});

const payload = z
  .object({
    action: z.string().optional(),
    ref: z.string().optional(),
    before: z.string().optional(),
    after: z.string().optional(),
    created: z.boolean().optional(),
    deleted: z.boolean().optional(),
    forced: z.boolean().optional(),
    zen: z.string().optional(),
    repository: z
      .object({ full_name: z.string().optional(), default_branch: z.string().optional() })
      .optional(),
    pusher: z.object({ name: z.string().optional() }).optional(),
    sender: z.object({ login: z.string().optional() }).optional(),
    head_commit: commit.optional(),
    commits: z.array(commit).optional().openapi({ description: "The first 20" }),
    commitCount: z.number().int().optional(),
  })
  .openapi({ description: "What the body says, as far as it is known to hold no secret, shortened" });

export const webhookDeliveryDetail = z
  .object({
    ...fields,
    headers: z.record(z.string(), z.string()).openapi({ description: "Without the signature" }),
    nextAttemptAt: time.nullable().openapi({ description: "When a failed one is tried again by itself" }),
    body: z.object({ bytes: z.number().int(), sha256: z.string() }),
    payload: payload.nullable(),
    deployments: z
      .array(z.object({ id, projectId: id, status: z.enum(deploymentStatuses), createdAt: time }))
      .openapi({ description: "All that it ever started, replays included; newest first" }),
  })
  .openapi("WebhookDeliveryDetail");

export const listWebhookDeliveries = route(
  { module: "deploy", permission: "webhook:read" },
  {
    method: "get",
    path: "/api/webhooks/deliveries",
    summary: "Deliveries of git hosts with what came of them, newest first",
    description:
      "Kept for 30 days. A delivery that no project was found for belongs to no organization and is not listed; the operator sees how many there are (`slipway doctor`).",
    request: {
      query: z.object({
        limit: z.coerce.number().int().min(1).max(limits.deliveriesMost).default(limits.pageDefault),
        cursor,
        status: z.enum(deliveryStatuses).optional(),
        verdict: z.enum(deliveryVerdicts).optional(),
        event: z.string().min(1).max(100).optional(),
        projectId: id.optional(),
        repository: z.string().min(1).max(201).toLowerCase().optional(),
        branch: branch.optional(),
        from: time.optional().openapi({ description: "Received at this time or later" }),
        to: time.optional().openapi({ description: "Received before this time" }),
      }),
    },
    responses: { 200: json("Deliveries", page(webhookDelivery)) },
  },
);

export const getWebhookDelivery = route(
  { module: "deploy", permission: "webhook:read" },
  {
    method: "get",
    path: "/api/webhooks/deliveries/{id}",
    summary: "One delivery with its headers, payload and deployments",
    request: { params: idParameter },
    responses: { 200: json("The delivery", data(webhookDeliveryDetail)) },
  },
);

export const replayWebhookDelivery = route(
  { module: "deploy", permission: "webhook:write" },
  {
    method: "post",
    path: "/api/webhooks/deliveries/{id}/replay",
    summary: "Handle a delivery again, with the projects of now and the trust of then",
    description:
      "202 when it started a deployment, 200 when nothing follows (the projects say why). A push whose deployment is still queued, running or live as the project's newest is not deployed a second time, and neither is one that the branch has moved on from, unless `force` asks for it. Also needs deployment:write. 409 while it is being handled; for a narrowed token also while a failed one is still tried again, since that concerns all projects.",
    request: {
      params: idParameter,
      body: {
        required: false,
        content: { "application/json": { schema: z.strictObject({ force: z.boolean().default(false) }) } },
      },
    },
    responses: {
      200: json("Nothing follows", data(webhookDeliveryDetail)),
      202: json("A deployment was started", data(webhookDeliveryDetail)),
    },
  },
);

export const listRefusedDeliveries = route(
  { module: "edge", permission: "webhook:read", modes: ["self-hosted"] },
  {
    method: "get",
    path: "/api/webhooks/deliveries/refused",
    summary: "Deliveries that were refused (401, 413, 429), by minute and source",
    description:
      "Also needs organization:admin, by a token that is not narrowed: they belong to the instance. Counted in the memory of the process that answers, for the last hour at most; where several processes take deliveries each counts its own, and the metrics have the sum. Not there in cloud mode.",
    request: {
      query: z.object({
        limit: z.coerce.number().int().min(1).max(limits.deliveriesMost).default(limits.pageDefault),
      }),
    },
    responses: {
      200: json(
        "Newest minute first",
        data(
          z.object({
            countedBy: z.literal("process"),
            since: time.openapi({ description: "Nothing before this time is counted" }),
            refused: z.array(
              z.object({
                minute: time,
                source: z.string(),
                status: z.number().int(),
                count: z.number().int(),
              }),
            ),
          }),
        ),
      ),
    },
  },
);
