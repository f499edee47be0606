/** The routes of git connections: parse, call the use case, shape the answer. */
import * as contract from "../../../shared/contract/git-connections.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import type { PlatformParts } from "../parts.ts";
import { checkGitConnection } from "./check.ts";
import { createGitConnection } from "./create.ts";
import { deleteGitConnection } from "./delete.ts";
import { listGitConnections } from "./list.ts";
import { showGitConnection } from "./show.ts";
import { updateGitConnection } from "./update.ts";

export function addGitConnectionRoutes(app: ModuleApp, parts: PlatformParts): void {
  app.openapi(contract.createGitConnection, async (c) =>
    c.json({ data: await createGitConnection(parts, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(contract.listGitConnections, async (c) =>
    c.json(await listGitConnections(parts.db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(contract.getGitConnection, async (c) => {
    const row = await load(parts.db, c.get("principal"), "gitConnection", c.req.valid("param").id);
    return c.json({ data: showGitConnection(row) }, 200);
  });
  app.openapi(contract.updateGitConnection, async (c) => {
    const { id } = c.req.valid("param");
    const changed = await updateGitConnection(parts, c.get("principal"), id, c.req.valid("json"));
    return c.json({ data: changed }, 200);
  });
  app.openapi(contract.deleteGitConnection, async (c) => {
    await deleteGitConnection(parts, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.checkGitConnection, async (c) => {
    const { id } = c.req.valid("param");
    const found = await checkGitConnection(parts, c.get("principal"), id, c.req.valid("query"));
    return c.json({ data: found }, 200);
  });
}
