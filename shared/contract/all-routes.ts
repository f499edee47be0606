/** Every route there is. A route that is not listed here is not mounted. */
import * as auth from "./auth.ts";
import * as cloudLink from "./cloud-link.ts";
import * as deliveries from "./deliveries.ts";
import * as deployments from "./deployments.ts";
import * as domains from "./domains.ts";
import * as gitConnections from "./git-connections.ts";
import * as members from "./members.ts";
import * as notifications from "./notifications.ts";
import * as organizations from "./organizations.ts";
import * as projectEnv from "./project-env.ts";
import * as projects from "./projects.ts";
import * as promotions from "./promotions.ts";
import * as registries from "./registries.ts";
import type { Route } from "./route.ts";
import * as servers from "./servers.ts";
import * as services from "./services.ts";
import * as system from "./system.ts";
import * as uploads from "./uploads.ts";
import * as webhooks from "./webhooks.ts";

export const allRoutes: readonly Route[] = [
  auth,
  organizations,
  members,
  servers,
  gitConnections,
  registries,
  cloudLink,
  promotions,
  projects,
  projectEnv,
  services,
  domains,
  deployments,
  uploads,
  notifications,
  webhooks,
  deliveries,
  system,
]
  .flatMap((module) => Object.values(module) as unknown[])
  .filter(isRoute);

function isRoute(value: unknown): value is Route {
  return typeof value === "object" && value !== null && "policy" in value;
}
