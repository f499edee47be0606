/** The routes of the platform module: parse, call the use case, shape the answer. */
import * as organizations from "../../shared/contract/organizations.ts";
import * as system from "../../shared/contract/system.ts";
import { admit, load } from "../../shared/db/tenancy.ts";
import { createModuleApp, type ModuleApp, type ModuleAppOptions } from "../../shared/http/module-app.ts";
import type { Feed } from "../../shared/operations/follow.ts";
import { exposition } from "../../shared/ports/metrics.ts";
import { listAudit } from "./audit-log.ts";
import { addAuthRoutes } from "./auth-routes.ts";
import { addCloudLinkRoutes } from "./cloud-link/routes.ts";
import { createToken } from "./create-token.ts";
import { addGitConnectionRoutes } from "./git-connections/routes.ts";
import { addMemberRoutes } from "./member-routes.ts";
import type { PlatformParts } from "./parts.ts";
import { addProjectRoutes } from "./project-routes.ts";
import { addRegistryRoutes } from "./registries/routes.ts";
import { addServerRoutes } from "./server-routes.ts";
import { addServiceRoutes } from "./services/routes.ts";
import { listTokens, revokeToken } from "./tokens.ts";

export interface PlatformOptions extends PlatformParts, Pick<ModuleAppOptions, "verifyIdentity"> {
  /** Follows the log of a bootstrap. */
  feed: Feed;
  /** All metrics in Prometheus' text format. */
  exposeMetrics: () => Promise<string>;
  /** Ends open streams when the process stops. */
  stopping?: AbortSignal;
}

export function createPlatform(options: PlatformOptions): ModuleApp {
  const { db, log, verifyIdentity, clock } = options;
  const app = createModuleApp({
    module: "platform",
    verifyIdentity,
    admit: (identity) => admit(db, identity),
    log,
  });

  addAuthRoutes(app, options);
  addMemberRoutes(app, options);
  app.openapi(organizations.listTokens, async (c) =>
    c.json(await listTokens(db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(organizations.createToken, async (c) => {
    const made = await createToken(db, c.get("principal"), c.req.valid("json"), clock.nowMs());
    return c.json({ data: made }, 201);
  });
  app.openapi(organizations.deleteToken, async (c) => {
    await revokeToken(db, c.get("principal"), c.req.valid("param").id);
    return c.json({ success: true as const }, 200);
  });
  app.openapi(organizations.listAudit, async (c) =>
    c.json(await listAudit(db, c.get("principal"), c.req.valid("query")), 200),
  );

  app.openapi(system.metrics, async (c) =>
    c.text(await options.exposeMetrics(), 200, { "Content-Type": exposition }),
  );

  addServerRoutes(app, options, (principal, id) =>
    admit(db, { ...principal, permissions: [...principal.permissions] }).then(async (present) => {
      await load(db, present, "server", id);
      return present.permissions.has("server:read");
    }),
  );
  addGitConnectionRoutes(app, options);
  addRegistryRoutes(app, options);
  addCloudLinkRoutes(app, options);
  addProjectRoutes(app, options);
  addServiceRoutes(app, options);
  return app;
}
