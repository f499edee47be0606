/** Liveness, readiness and version: public, and silent about everything else. */
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
