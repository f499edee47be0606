/** The routes of the cloud link: parse, call the use case, shape the answer. */
import * as contract from "../../../shared/contract/cloud-link.ts";
import * as promotions from "../../../shared/contract/promotions.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import type { PlatformParts } from "../parts.ts";
import { deleteCloudLink } from "./delete.ts";
import { putCloudLink } from "./put.ts";
import { receivePromotion } from "./receive-promotion.ts";
import { readCloudLink } from "./show.ts";

export function addCloudLinkRoutes(app: ModuleApp, parts: PlatformParts): void {
  app.openapi(contract.getCloudLink, async (c) =>
    c.json({ data: await readCloudLink(parts.db, c.get("principal")) }, 200),
  );
  app.openapi(contract.putCloudLink, async (c) =>
    c.json({ data: await putCloudLink(parts, c.get("principal"), c.req.valid("json")) }, 200),
  );
  app.openapi(contract.deleteCloudLink, async (c) => {
    await deleteCloudLink(parts.db, c.get("principal"));
    return c.json({ success: true as const }, 200);
  });
  app.openapi(promotions.promoteProject, async (c) => {
    const { created, ...data } = await receivePromotion(parts, c.get("principal"), c.req.valid("json"));
    return c.json({ data }, created ? 201 : 200);
  });
}
