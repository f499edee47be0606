/** The environment of a project: values go in and never come out again. */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { idParameter, time } from "./common.ts";
import { body, data, json, route } from "./route.ts";

export const envKey = z
  .string()
  .max(limits.envKeyLength)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be letters, digits and underscores, not starting with a digit");

export const envValue = z
  .string()
  .refine(
    (value) => new TextEncoder().encode(value).length <= limits.envValueBytes,
    `must be at most ${limits.envValueBytes} bytes`,
  );

const envEntry = z.object({ key: z.string(), fingerprint: z.string(), updatedAt: time }).openapi("EnvEntry");

export const getEnv = route(
  { module: "platform", permission: "project:read" },
  {
    method: "get",
    path: "/api/projects/{id}/env",
    summary: "Keys and fingerprints of the environment; values are never returned",
    request: { params: idParameter },
    responses: { 200: json("Entries, by key", data(z.array(envEntry))) },
  },
);

export const putEnv = route(
  { module: "platform", permission: "project:write" },
  {
    method: "put",
    path: "/api/projects/{id}/env",
    summary: "Change the environment; takes effect with the next deployment",
    description: "`set` writes values, `unset` removes keys; keys named in neither stay as they are.",
    request: {
      params: idParameter,
      body: body(
        z.strictObject({
          set: z.record(envKey, envValue).default({}),
          unset: z.array(envKey).max(limits.envEntries).default([]),
        }),
      ),
    },
    responses: { 200: json("Entries, by key", data(z.array(envEntry))) },
  },
);
