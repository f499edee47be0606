/** The routes of the delivery inbox: parse, call the use case, shape the answer. */
import * as contract from "../../../shared/contract/deliveries.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import { listDeliveries } from "./list.ts";
import { type ReplayParts, replay } from "./replay.ts";
import { showDelivery } from "./show.ts";

export function addInboxRoutes(app: ModuleApp, parts: ReplayParts): void {
  app.openapi(contract.listWebhookDeliveries, async (c) =>
    c.json(await listDeliveries(parts.db, c.get("principal"), c.req.valid("query")), 200),
  );

  app.openapi(contract.getWebhookDelivery, async (c) =>
    c.json({ data: await showDelivery(parts.db, c.get("principal"), c.req.valid("param").id) }, 200),
  );

  app.openapi(contract.replayWebhookDelivery, async (c) => {
    // Without a body there is an empty object here, whatever the types say.
    const { force = false } = c.req.valid("json") ?? {};
    const { detail, started } = await replay(parts, c.get("principal"), c.req.valid("param").id, force);
    return c.json({ data: detail }, started ? 202 : 200);
  });
}
