/** The routes of notifications: parse, call the use case, shape the answer. */
import * as contract from "../../shared/contract/notifications.ts";
import type { Listener } from "../../shared/db/database.ts";
import { admit } from "../../shared/db/tenancy.ts";
import { categories } from "../../shared/domain/notification.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { eventStream } from "../../shared/http/event-stream.ts";
import { createModuleApp, type ModuleApp, type ModuleAppOptions } from "../../shared/http/module-app.ts";
import { createChannel } from "./create-channel.ts";
import { listDefaults, putDefault } from "./defaults.ts";
import { deleteChannel } from "./delete-channel.ts";
import { countUnseen, listDeliveries, markSeen } from "./deliveries.ts";
import { createFeedHub, followFeed } from "./feed-stream.ts";
import { listChannels } from "./list-channels.ts";
import type { NotifyParts } from "./parts.ts";
import { deleteSubscription, listEffective, listSubscriptions, putSubscription } from "./subscriptions.ts";
import { testChannel } from "./test-channel.ts";
import { updateChannel } from "./update-channel.ts";

export interface NotifyOptions extends NotifyParts, Pick<ModuleAppOptions, "verifyIdentity"> {
  listener: Listener;
  /** Ends open streams when the process stops. */
  stopping: AbortSignal;
}

export function createNotify(options: NotifyOptions): ModuleApp {
  const { db, log, verifyIdentity, baseUrl } = options;
  const app = createModuleApp({
    module: "notify",
    verifyIdentity,
    admit: (identity) => admit(db, identity),
    log,
  });
  addChannelRoutes(app, options);

  app.openapi(contract.listCategories, (c) => {
    const data = categories.map(({ id, label, description, defaultEnabled }) => ({
      ...{ id, label, description, defaultEnabled },
    }));
    return c.json({ data, nextCursor: null }, 200);
  });
  app.openapi(contract.listSubscriptions, async (c) => {
    const { effective, ...page } = c.req.valid("query");
    const list = isYes(effective) ? listEffective : listSubscriptions;
    return c.json(await list(db, c.get("principal"), page), 200);
  });
  app.openapi(contract.putSubscription, async (c) =>
    c.json({ data: await putSubscription(db, c.get("principal"), c.req.valid("json")) }, 200),
  );
  app.openapi(contract.deleteSubscription, async (c) => {
    await deleteSubscription(db, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.listDefaults, async (c) => c.json(await listDefaults(db, c.get("principal")), 200));
  app.openapi(contract.putDefault, async (c) =>
    c.json({ data: await putDefault(db, c.get("principal"), c.req.valid("json")) }, 200),
  );
  app.openapi(contract.listDeliveries, async (c) => {
    const { unseen, ...query } = c.req.valid("query");
    const wanted = { ...query, unseen: isYes(unseen), baseUrl };
    return c.json(await listDeliveries(db, c.get("principal"), wanted), 200);
  });
  app.openapi(contract.countUnseen, async (c) =>
    c.json({ data: { count: await countUnseen(db, c.get("principal")) } }, 200),
  );
  app.openapi(contract.markSeen, async (c) => {
    const seen = await markSeen(db, c.get("principal"), c.req.valid("param").id, baseUrl);
    return c.json({ data: seen }, 200);
  });
  addStream(app, options);
  return app;
}

function addChannelRoutes(app: ModuleApp, parts: NotifyParts): void {
  app.openapi(contract.listChannels, async (c) =>
    c.json(await listChannels(parts.db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(contract.createChannel, async (c) =>
    c.json({ data: await createChannel(parts, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(contract.updateChannel, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await updateChannel(parts, c.get("principal"), id, c.req.valid("json")) }, 200);
  });
  app.openapi(contract.deleteChannel, async (c) => {
    await deleteChannel(parts, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.testChannel, async (c) =>
    c.json({ data: await testChannel(parts, c.get("principal"), c.req.valid("param").id) }, 200),
  );
}

function addStream(app: ModuleApp, options: NotifyOptions): void {
  const { db, clock, log, stopping } = options;
  const hub = createFeedHub(options.listener, options, stopping);
  app.openapi(contract.streamDeliveries, (c) => {
    const principal = c.get("principal");
    return eventStream(c, {
      events: (since, signal) => followFeed(options, hub, principal, since, signal),
      recheck: () => mayStillRead(db, principal),
      ...{ clock, log, signal: stopping },
    });
  });
}

/** Asked while the stream is open: a revoked token or a lost membership ends it. */
async function mayStillRead(db: NotifyParts["db"], principal: Principal): Promise<boolean> {
  const now = await admit(db, { ...principal, permissions: [...principal.permissions] });
  return now.permissions.has("notifications:read");
}

function isYes(flag: string | undefined): boolean {
  return flag === "true" || flag === "1";
}
