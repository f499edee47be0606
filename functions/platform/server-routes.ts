import * as contract from "../../shared/contract/servers.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { eventStream } from "../../shared/http/event-stream.ts";
import type { ModuleApp } from "../../shared/http/module-app.ts";
import { toClientEvents } from "../../shared/operations/stream-form.ts";
import { startBootstrap } from "./bootstrap/start.ts";
import { checkServer } from "./check-server.ts";
import { createServer } from "./create-server.ts";
import { deleteServer } from "./delete-server.ts";
import { listServers } from "./list-servers.ts";
import { probeServer } from "./probe-server.ts";
import type { PlatformOptions } from "./routes.ts";
import { readServerDisk } from "./server-disk.ts";
import { showServer } from "./server-row.ts";
import { updateServer } from "./update-server.ts";

/** `mayRead` asks the database again whether the caller may still see the server; streams do so while they are open. */
export function addServerRoutes(
  app: ModuleApp,
  options: PlatformOptions,
  mayRead: (principal: Principal, serverId: string) => Promise<boolean>,
): void {
  const { db, shell, clock, log, feed, stopping } = options;

  app.openapi(contract.probeServer, async (c) =>
    c.json({ data: await probeServer(shell, c.req.valid("json")) }, 200),
  );
  app.openapi(contract.createServer, async (c) =>
    c.json({ data: await createServer(options, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(contract.listServers, async (c) =>
    c.json(await listServers(db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(contract.getServer, async (c) => {
    const row = await load(db, c.get("principal"), "server", c.req.valid("param").id);
    return c.json({ data: showServer(row) }, 200);
  });
  app.openapi(contract.updateServer, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await updateServer(options, c.get("principal"), id, c.req.valid("json")) }, 200);
  });
  app.openapi(contract.trustHostKey, async (c) => {
    const wanted = c.req.valid("json");
    const { id } = c.req.valid("param");
    const trusted = await updateServer(options, c.get("principal"), id, wanted, "server.host_key_trusted");
    return c.json({ data: trusted }, 200);
  });
  app.openapi(contract.getServerDisk, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await readServerDisk(options, c.get("principal"), id) }, 200);
  });
  app.openapi(contract.deleteServer, async (c) => {
    await deleteServer(options, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.checkServer, async (c) => {
    const found = await checkServer(options, c.get("principal"), c.req.valid("param").id);
    return c.json({ data: found }, 200);
  });
  app.openapi(contract.bootstrapServer, async (c) => {
    const { id } = c.req.valid("param");
    const principal = c.get("principal");
    const operationId = await startBootstrap(db, principal, id);
    return eventStream(c, {
      events: (since, signal) => toClientEvents(feed.follow(operationId, since, signal)),
      recheck: () => mayRead(principal, id),
      clock,
      log,
      ...(stopping === undefined ? {} : { signal: stopping }),
    });
  });
}
