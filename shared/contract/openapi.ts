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
  return `Needs the permission \`${permission}\`.`;
}
