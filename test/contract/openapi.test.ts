/** The published document is the one that the contract makes. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import { openApiDocument } from "../../shared/contract/openapi.ts";

const read = async (path: string) =>
  JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), "utf8"));

test("docs/openapi.json is current; else run `npm run openapi`", async () => {
  const { version } = await read("package.json");
  expect(JSON.parse(JSON.stringify(openApiDocument(version)))).toEqual(await read("docs/openapi.json"));
});

test("every route stands in it, with its permission", () => {
  const { paths = {} } = openApiDocument("0");
  for (const route of allRoutes) {
    const operation = (paths[route.path] as Record<string, Record<string, unknown>> | undefined)?.[
      route.method
    ];
    expect(operation, `${route.method} ${route.path}`).toMatchObject({
      "x-permission": route.policy.permission,
      summary: expect.any(String),
    });
  }
});
