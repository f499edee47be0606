/** The OpenAPI 3.1 document, made from the very schemas that validate (decisions.md section 3, `/api/openapi.json`). */
import { OpenAPIHono } from "@hono/zod-openapi";
import { allRoutes } from "./all-routes.ts";

export type OpenApiDocument = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

export function openApiDocument(version: string): OpenApiDocument {
  const app = new OpenAPIHono();
  const { openAPIRegistry } = app;
  openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An access token: `slp_` and 40 letters and digits.",
  });
  openAPIRegistry.registerComponent("securitySchemes", "session", {
    type: "apiKey",
    in: "cookie",
    name: "slipway_session",
    description:
      "Set by signing in; over https its name is `__Host-slipway_session`. Unsafe methods need a same-origin `Origin` or `Sec-Fetch-Site`; `X-Organization-Id` picks the organization.",
  });
  for (const { policy, documented, getRoutingPath: _, ...config } of allRoutes) {
    openAPIRegistry.registerPath({
      ...config,
      responses: documented,
      tags: [tagOf(config.path)],
      description: [config.description, permissionSentence(policy.permission)].filter(Boolean).join("\n\n"),
    });
  }
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Slipway",
      version,
      description: "Build, release and look after projects on servers you own.",
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
  });
  return withPlainPatterns(document);
}

/** The generator writes the flag of a regular expression into its pattern (`^a$/u`), which no reader understands. */
function withPlainPatterns(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(JSON.stringify(document), (key, value: unknown) =>
    key === "pattern" && typeof value === "string" ? value.replace(/\/u$/, "") : value,
  ) as OpenApiDocument;
}

/** `/api/projects/{id}/env` belongs to `projects`. */
function tagOf(path: string): string {
  return path.split("/")[2] ?? "system";
}

function permissionSentence(permission: string): string {
  if (permission === "public") return "Public.";
  if (permission === "member") return "Needs any access token that holds.";
  if (permission === "session") return "Needs a person who is signed in; an access token cannot do it.";
  return `Needs the permission \`${permission}\`.`;
}
