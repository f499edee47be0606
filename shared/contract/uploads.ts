/** Folders that are uploaded, and the wizard's way to start a deployment (decisions.md sections 3 and 4). */
import { z } from "@hono/zod-openapi";
import { buildStrategies } from "../domain/deployment.ts";
import { limits } from "../domain/limits.ts";
import { branch, id, idParameter, name, port, time } from "./common.ts";
import { deployTargetNote } from "./deployments.ts";
import { body, data, json, route } from "./route.ts";

export const createUploadSession = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/upload-sessions",
    summary: "Begin the upload of a folder",
    description:
      "The session holds for 60 minutes; after that the upload is kept by the deployments that use it.",
    request: {
      body: body(
        z.strictObject({
          projectId: id
            .optional()
            .openapi({ description: "The upload may then be used for this project only" }),
          mode: z.enum(["local", "cloud"]).default("local"),
        }),
      ),
    },
    responses: {
      201: json(
        "The session",
        data(z.object({ uploadSessionId: id, expiresAt: time, maxBytes: z.number() })),
      ),
    },
  },
);

const tooLarge = {
  description: `More than ${limits.uploadBytes} bytes`,
  content: { "application/json": { schema: z.object({ error: z.string(), code: z.string() }) } },
};

export const putUploadContent = route(
  { module: "deploy", permission: "deployment:write", body: "raw" },
  {
    method: "put",
    path: "/api/deployments/upload-sessions/{id}/content",
    summary: "Upload the folder as a gzip-compressed tar archive",
    description: [
      "Checked while it comes: plain files, folders, and links that stay inside; at most 100,000 entries and 2 GB",
      "unpacked. Sent again it replaces what was there.",
    ].join(" "),
    request: {
      params: idParameter,
      body: {
        required: true,
        content: { "application/gzip": { schema: z.string().openapi({ format: "binary" }) } },
      },
    },
    responses: {
      200: json(
        "What has come",
        data(
          z.object({
            uploadSessionId: id,
            expiresAt: time,
            bytes: z.number().openapi({ description: "Size of the archive as it is kept" }),
            unpackedBytes: z.number(),
            entries: z.number(),
          }),
        ),
      ),
      413: tooLarge,
    },
  },
);

export const buildAccess = route(
  { module: "deploy", permission: "deployment:write" },
  {
    method: "post",
    path: "/api/deployments/build/access",
    summary: "Create a deployment of a git project or of an upload and start its build",
    request: {
      body: body(
        z.strictObject({
          projectId: id,
          uploadSessionId: id
            .optional()
            .openapi({ description: "Needed where the project's source is an upload" }),
          branch: branch.optional().openapi({ description: "Git only. Default: the project's branch" }),
          buildStrategy: z
            .enum(buildStrategies)
            .optional()
            .openapi({ description: "For this deployment. Default: the project's" }),
          deployTarget: z.enum(["local", "cloud"]).optional().openapi({ description: deployTargetNote }),
          publicEndpoints: z
            .array(z.strictObject({ port }))
            .max(1)
            .optional()
            .openapi({ description: "The port on which the service listens, for this deployment" }),
          services: z
            .array(z.strictObject({ name }))
            .max(1)
            .optional()
            .openapi({ description: "The one service of the project, by the project's name or slug" }),
        }),
      ),
    },
    responses: {
      202: json("Started", z.object({ success: z.literal(true), deployment_id: id, project_id: id })),
    },
  },
);
