/** The routes of registries: parse, call the use case, shape the answer. */
import * as contract from "../../../shared/contract/registries.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import type { PlatformParts } from "../parts.ts";
import { checkRegistry } from "./check.ts";
import { createRegistry } from "./create.ts";
import { deleteRegistry } from "./delete.ts";
import { listRegistries } from "./list.ts";

export function addRegistryRoutes(app: ModuleApp, parts: PlatformParts): void {
  app.openapi(contract.createRegistry, async (c) =>
    c.json({ data: await createRegistry(parts, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(contract.listRegistries, async (c) =>
    c.json(await listRegistries(parts.db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(contract.deleteRegistry, async (c) => {
    await deleteRegistry(parts, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.checkRegistry, async (c) => {
    const { serverId } = c.req.valid("query");
    const found = await checkRegistry(parts, c.get("principal"), c.req.valid("param").id, serverId);
    return c.json({ data: found }, 200);
  });
}
