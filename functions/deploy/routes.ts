/** The routes of the deployments module: parse, call the use case, shape the answer. */

import * as contract from "../../shared/contract/deployments.ts";
import * as uploadContract from "../../shared/contract/uploads.ts";
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import { admit, load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { eventStream } from "../../shared/http/event-stream.ts";
import type { ModuleAppOptions } from "../../shared/http/module-app.ts";
import { createModuleApp, type ModuleApp } from "../../shared/http/module-app.ts";
import type { Feed } from "../../shared/operations/follow.ts";
import { toClientEvents } from "../../shared/operations/stream-form.ts";
import type { BlobStore } from "../../shared/ports/blob-store.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import type { OutgoingStreams } from "../../shared/ports/outgoing.ts";
import { buildAccess } from "./build-access.ts";
import { cancel } from "./cancel.ts";
import { addCloudProxy } from "./cloud/proxy.ts";
import { create } from "./create.ts";
import type { DeploymentKind } from "./deployment-kind.ts";
import type { Redeliver } from "./inbox/replay.ts";
import { addInboxRoutes } from "./inbox/routes.ts";
import { list } from "./list.ts";
import { pin } from "./pin.ts";
import { readLogs } from "./read-logs.ts";
import { redeploy } from "./redeploy.ts";
import { rollBack } from "./roll-back.ts";
import { shape } from "./shape.ts";
import { show } from "./show.ts";
import { openUploadSession, putContent } from "./uploads/session.ts";

export interface DeployOptions extends Pick<ModuleAppOptions, "verifyIdentity" | "log"> {
  db: Database;
  /** Holds the rings `env`, `webhook` and `cloud`. */
  sealer: Sealer;
  clock: Clock;
  /** From `createDeploymentKind`; the runner runs it, the routes ask it to end. */
  kind: DeploymentKind;
  feed: Feed;
  /** Folders that were uploaded. */
  uploads: BlobStore;
  /** To the linked cloud. */
  streams: OutgoingStreams;
  /** SLIPWAY_MODE: the cloud takes no folders. */
  mode: "self-hosted" | "cloud";
  /** Handles a delivery again as the ingress does. */
  redeliver: Redeliver;
  /** Ends open streams when the process stops. */
  stopping?: AbortSignal;
}

export function createDeploy(options: DeployOptions): ModuleApp {
  const { db, log, verifyIdentity } = options;
  const app = createModuleApp({
    module: "deploy",
    verifyIdentity,
    admit: (identity) => admit(db, identity),
    log,
  });

  if (options.mode === "self-hosted") addCloudProxy(app, options);

  app.openapi(contract.listDeployments, async (c) =>
    c.json(await list(db, c.get("principal"), c.req.valid("query")), 200),
  );

  app.openapi(contract.createDeployment, async (c) =>
    c.json({ data: shape(await create(db, c.get("principal"), c.req.valid("json"))) }, 202),
  );

  app.openapi(contract.getDeployment, async (c) =>
    c.json({ data: shape(await show(db, c.get("principal"), c.req.valid("param").id)) }, 200),
  );

  app.openapi(contract.getDeploymentLogs, async (c) => {
    const logs = await readLogs(db, c.get("principal"), c.req.valid("param").id, c.req.valid("query"));
    return wantsText(c.req.header("accept"))
      ? c.text(logs.data.map(({ line }) => `${line}\n`).join(""), 200)
      : c.json(logs, 200);
  });

  app.openapi(contract.streamDeployment, async (c) => {
    const { id } = c.req.valid("param");
    const principal = c.get("principal");
    await show(db, principal, id);
    return eventStream(c, {
      events: (since, signal) => toClientEvents(options.feed.follow(id, since, signal)),
      recheck: () => mayStillRead(db, principal, id),
      clock: options.clock,
      log,
      ...(options.stopping === undefined ? {} : { signal: options.stopping }),
    });
  });

  app.openapi(contract.redeploy, async (c) => {
    // Without a body there is an empty object here, whatever the types say.
    const { useExistingCommit = false } = c.req.valid("json") ?? {};
    const made = await redeploy(options, c.get("principal"), c.req.valid("param").id, useExistingCommit);
    return c.json({ data: shape(made) }, 202);
  });

  app.openapi(contract.rollbackDeployment, async (c) => {
    const made = await rollBack(options, c.get("principal"), c.req.valid("param").id);
    return c.json({ data: shape(made) }, 202);
  });

  app.openapi(contract.cancelDeployment, async (c) => {
    const { id } = c.req.valid("param");
    const { view, proven } = await cancel(options, c.get("principal"), id, c.req.raw.signal);
    return c.json({ data: shape(view) }, proven ? 200 : 202);
  });

  app.openapi(contract.pinDeployment, async (c) => {
    const { pinned = true } = c.req.valid("json") ?? {};
    return c.json({ data: shape(await pin(db, c.get("principal"), c.req.valid("param").id, pinned)) }, 200);
  });

  addUploads(app, options);
  addInboxRoutes(app, options);
  return app;
}

function addUploads(app: ModuleApp, options: DeployOptions): void {
  app.openapi(uploadContract.createUploadSession, async (c) =>
    c.json({ data: await openUploadSession(options, c.get("principal"), c.req.valid("json")) }, 201),
  );

  app.openapi(uploadContract.putUploadContent, async (c) => {
    const { body, signal } = c.req.raw;
    const content = { contentType: c.req.header("content-type"), body, signal };
    const received = await putContent(options, c.get("principal"), c.req.valid("param").id, content);
    return c.json({ data: received }, 200);
  });

  app.openapi(uploadContract.buildAccess, async (c) => {
    const made = await buildAccess(options, c.get("principal"), c.req.valid("json"));
    return c.json({ success: true as const, deployment_id: made.id, project_id: made.projectId }, 202);
  });
}

/** Asked while the stream is open: a revoked token or a lost membership ends it. */
async function mayStillRead(db: Database, principal: Principal, id: string): Promise<boolean> {
  const now = await admit(db, { ...principal, permissions: [...principal.permissions] });
  await load(db, now, "deployment", id);
  return now.permissions.has("deployment:read");
}

function wantsText(accept: string | undefined): boolean {
  const types = (accept ?? "").split(",").map((type) => type.split(";", 1)[0]?.trim());
  return types.includes("text/plain") && !types.includes("application/json");
}
