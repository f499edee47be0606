/** The public ingress of signed deliveries (spec.md "Webhooks"). Its bodies are exactly those that spec.md prints. */
import { z } from "@hono/zod-openapi";
import { json, route } from "./route.ts";

export const receiveWebhook = route(
  { module: "edge", permission: "public", body: "raw" },
  {
    method: "post",
    path: "/api/webhooks/{provider}",
    summary: "Receive a signed delivery of a git host",
    description:
      "Headers: X-Hub-Signature-256, X-Provider-Event, X-Provider-Delivery (X-GitHub-Event and X-GitHub-Delivery are aliases).",
    request: {
      params: z.object({ provider: z.string().max(64) }),
      query: z.object({ hook: z.string().optional() }),
    },
    responses: {
      200: json(
        "Stored for good",
        z.union([
          z.object({ success: z.literal(true), deliveryId: z.string(), status: z.string() }),
          z.object({ success: z.literal(false), error: z.string() }),
        ]),
      ),
      404: json("Not registered", z.object({ error: z.string() })),
    },
  },
);
