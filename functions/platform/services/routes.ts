/** The routes of services: parse, call the use case, shape the answer. */
import * as contract from "../../../shared/contract/services.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import type { PlatformParts } from "../parts.ts";
import { createService } from "./create.ts";
import { deleteService } from "./delete.ts";
import { listServices } from "./list.ts";
import { updateService } from "./update.ts";

export function addServiceRoutes(app: ModuleApp, parts: PlatformParts): void {
  app.openapi(contract.listServices, async (c) => {
    const { id } = c.req.valid("param");
    return c.json(await listServices(parts, c.get("principal"), id, c.req.valid("query")), 200);
  });
  app.openapi(contract.createService, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await createService(parts, c.get("principal"), id, c.req.valid("json")) }, 201);
  });
  app.openapi(contract.updateService, async (c) => {
    const { id: projectId, serviceId } = c.req.valid("param");
    const which = { projectId, serviceId };
    return c.json({ data: await updateService(parts, c.get("principal"), which, c.req.valid("json")) }, 200);
  });
  app.openapi(contract.deleteService, async (c) => {
    const { id: projectId, serviceId } = c.req.valid("param");
    await deleteService(parts, c.get("principal"), { projectId, serviceId });
    return c.json({ success: true as const }, 200);
  });
}
