/** Liveness, readiness and version: public, and silent about everything else. Metrics need a token. */
import { z } from "@hono/zod-openapi";
import { data, json, route } from "./route.ts";

export const health = route(
  { module: "edge", permission: "public" },
  {
    method: "get",
    path: "/api/system/health",
    summary: "The process answers",
    responses: { 200: json("Alive", data(z.object({ status: z.literal("ok") }))) },
  },
);

export const ready = route(
  { module: "edge", permission: "public" },
  {
    method: "get",
    path: "/api/system/ready",
    summary: "The process can do its work: the database answers; 503 otherwise",
    responses: { 200: json("Ready", data(z.object({ status: z.literal("ready") }))) },
  },
);

export const version = route(
  { module: "edge", permission: "public" },
  {
    method: "get",
    path: "/api/system/version",
    summary: "Version and mode",
    responses: {
      200: json("Version", data(z.object({ version: z.string(), mode: z.enum(["self-hosted", "cloud"]) }))),
    },
  },
);

/** Of the whole instance: in the cloud, where organizations share one, they are the operator's and not mounted. */
export const metrics = route(
  { module: "platform", permission: "organization:read", modes: ["self-hosted"] },
  {
    method: "get",
    path: "/api/system/metrics",
    summary: "Metrics of this instance for Prometheus",
    description: "Text format 0.0.4. Counters are of this process and begin at 0 with it.",
    responses: {
      200: { description: "Metrics", content: { "text/plain": { schema: z.string() } } },
    },
  },
);
