/** Deployments (spec.md "Deployments", decisions.md section 4), as far as one service from git needs them. */
import { z } from "@hono/zod-openapi";
import { deploymentPhases, deploymentStatuses, deploymentTriggers } from "../domain/deployment.ts";
import { branch, id, idParameter, pageQuery, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const operationError = z
  .object({
    code: z.string(),
    message: z.string(),
    hint: z.string().nullable(),
    logTail: z.array(z.string()),
  })
  .openapi("OperationError");

const phases = z
  .partialRecord(z.enum(deploymentPhases), z.number())
  .openapi({ description: "Milliseconds a phase" });

export const deployment = z
  .object({
    id,
    projectId: id,
    status: z.enum(deploymentStatuses),
    decision: z.enum(["none", "pending", "keeping", "rejecting", "kept", "rejected"]),
    trigger: z.enum(deploymentTriggers),
    branch: z.string().nullable(),
    commitSha: z.string().nullable(),
    commitMessage: z.string().nullable(),
    urls: z.array(z.string()),
    isActive: z.boolean(),
    pinned: z.boolean(),
    artifact: z.enum(["kept", "none"]),
    mode: z.enum(["image", "rebuild"]).nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    phases,
    error: operationError.nullable(),
    rollbackOf: id.nullable(),
    deliveryId: id.nullable(),
    createdBy: id.nullable(),
  })
  .openapi("Deployment");

export const listDeployments = route(
  { module: "deploy", permission: "deployment:list" },
  {
    method: "get",
    path: "/api/deployments",
    summary: "Deployments of the organization, newest first",
    request: { query: pageQuery.extend({ projectId: id.optional() }) },
    responses: { 200: json("Deployments", page(deployment)) },
  },
);

export const deployTargetNote =
  "`cloud` on a linked self-hosted instance promotes the project: the cloud takes it in and deploys it, now and from then on. 400 `cloud_not_linked` without a link, 403 for folders. Needs project:write.";

export const createDeployment = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments",
    summary: "Deploy a linked project from its git source",
    request: {
      body: body(
        z.strictObject({
          projectId: id,
          branch: branch.optional().openapi({ description: "Default: the project's branch" }),
          commitSha: z
            .string()
            .regex(/^[0-9a-f]{40}$/, "must be 40 hex digits")
            .optional()
            .openapi({ description: "Default: the head of the branch" }),
          trigger: z.enum(["manual", "cli"]).default("manual"),
          deployTarget: z.enum(["local", "cloud"]).optional().openapi({ description: deployTargetNote }),
        }),
      ),
    },
    responses: { 202: json("The deployment", data(deployment)) },
  },
);

export const getDeployment = route(
  { module: "deploy", permission: "deployment:read" },
  {
    method: "get",
    path: "/api/deployments/{id}",
    summary: "Status, addresses, timing and error of a deployment",
    request: { params: idParameter },
    responses: { 200: json("The deployment", data(deployment)) },
  },
);

const since = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const getDeploymentLogs = route(
  { module: "deploy", permission: "deployment:read" },
  {
    method: "get",
    path: "/api/deployments/{id}/logs",
    summary: "Stored log lines, oldest first: the same as the stream shows",
    description: "With `Accept: text/plain` the bare lines.",
    request: {
      params: idParameter,
      query: z.object({
        since: since.default(0).openapi({ description: "Only lines with a seq above this one" }),
        limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
        phase: z.enum(deploymentPhases).optional(),
      }),
    },
    responses: {
      200: {
        description: "Lines",
        content: {
          "application/json": {
            schema: z.object({
              data: z.array(
                z.object({
                  seq: z.number(),
                  at: time,
                  stream: z.enum(["stdout", "system"]),
                  phase: z.string(),
                  line: z.string(),
                }),
              ),
              nextCursor: z.string().nullable().openapi({ description: "Pass as `since`; null at the end" }),
            }),
          },
          "text/plain": { schema: z.string() },
        },
      },
    },
  },
);

export const streamDeployment = route(
  { module: "deploy", permission: "deployment:read", stream: true },
  {
    method: "get",
    path: "/api/deployments/{id}/stream",
    summary: "Live log and events; resume with `since` or `Last-Event-ID`",
    description:
      "Server-sent events with `id: <seq>`: `log` { seq, at, stream, phase, line }, `phase` { phase, state, ms }, `status` { status }, and last `complete` { status, error }. A finished deployment replays and closes.",
    request: { params: idParameter, query: z.object({ since: since.optional() }) },
    responses: {
      200: { description: "The stream", content: { "text/event-stream": { schema: z.string() } } },
    },
  },
);

export const redeploy = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/{id}/redeploy",
    summary: "Deploy the project again, from the head of the branch or from the latest deployment's commit",
    request: {
      params: idParameter,
      body: {
        required: false,
        content: {
          "application/json": { schema: z.strictObject({ useExistingCommit: z.boolean().default(false) }) },
        },
      },
    },
    responses: { 202: json("The new deployment", data(deployment)) },
  },
);

export const rollbackDeployment = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/{id}/rollback",
    summary: "Make this deployment's version the active one again",
    description:
      "Also needs deployment:admin. From the kept image where there is one, else by building that commit.",
    request: { params: idParameter },
    responses: { 202: json("The new deployment", data(deployment)) },
  },
);

export const cancelDeployment = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/{id}/cancel",
    summary: "End a deployment that is under way; 202 when proving it gone takes longer than 10 s",
    description: "Also needs deployment:admin. 400 once the new version is live or the deployment is over.",
    request: { params: idParameter },
    responses: {
      200: json("Cancelled", data(deployment)),
      202: json("Still being ended", data(deployment)),
    },
  },
);

export const pinDeployment = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/{id}/pin",
    summary: "Keep this deployment's image whatever the rollback window says, or release it",
    request: {
      params: idParameter,
      body: {
        required: false,
        content: { "application/json": { schema: z.strictObject({ pinned: z.boolean().default(true) }) } },
      },
    },
    responses: { 200: json("The deployment", data(deployment)) },
  },
);
