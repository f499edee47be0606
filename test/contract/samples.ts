/** A body that holds for each route that takes one; a route without a sample fails the suite. */
import * as auth from "../../shared/contract/auth.ts";
import * as cloudLink from "../../shared/contract/cloud-link.ts";
import * as deliveries from "../../shared/contract/deliveries.ts";
import * as deployments from "../../shared/contract/deployments.ts";
import * as domains from "../../shared/contract/domains.ts";
import * as gitConnections from "../../shared/contract/git-connections.ts";
import * as members from "../../shared/contract/members.ts";
import * as notifications from "../../shared/contract/notifications.ts";
import * as organizations from "../../shared/contract/organizations.ts";
import * as projectEnv from "../../shared/contract/project-env.ts";
import * as projects from "../../shared/contract/projects.ts";
import * as promotions from "../../shared/contract/promotions.ts";
import * as registries from "../../shared/contract/registries.ts";
import type { Route } from "../../shared/contract/route.ts";
import * as servers from "../../shared/contract/servers.ts";
import * as services from "../../shared/contract/services.ts";
import * as uploads from "../../shared/contract/uploads.ts";
import type { Belongings } from "./whole-api.ts";

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const source = { kind: "git", owner: "acme", repo: "shop", branch: "main" };

const password = "correct horse";

type Sample = (has: Belongings) => Record<string, unknown>;

const samples = new Map<Pick<Route, "path" | "method">, Sample>([
  [auth.setUp, () => ({ code: "x", organization: "Acme", name: "Ada", email: "ada@acme.test", password })],
  [auth.signIn, () => ({ email: "ada@acme.test", password })],
  [auth.acceptInvitation, () => ({ token: "x", name: "Ben", password })],
  [auth.changePassword, () => ({ currentPassword: password, newPassword: password })],
  [organizations.createOrganization, () => ({ name: "Other" })],
  [organizations.updateOrganization, () => ({ name: "Acme" })],
  [organizations.transferOrganization, (has) => ({ userId: has.userId })],
  [members.inviteMember, () => ({ email: "new@acme.test", role: "viewer" })],
  [members.updateMember, () => ({ role: "member" })],
  [organizations.createToken, () => ({ name: "ci", permissions: ["project:read"], expiresInDays: 7 })],
  [servers.probeServer, () => ({ host: "server.test", port: 22 })],
  [
    servers.createServer,
    () => ({
      name: "two",
      host: "192.0.2.7",
      auth: { kind: "password", password: "x" },
      hostKey,
      user: "root",
    }),
  ],
  [servers.trustHostKey, () => ({ hostKey, auth: { kind: "password", password: "x" } })],
  [servers.updateServer, () => ({ name: "three" })],
  [
    gitConnections.createGitConnection,
    () => ({ name: "git", baseUrl: "https://git.test", kind: "token", secret: "token-of-nobody" }),
  ],
  [gitConnections.updateGitConnection, () => ({ name: "other", secret: "another-token" })],
  [
    registries.createRegistry,
    () => ({ name: "images", host: "images.test:5000", username: "ada", secret: "secret-of-nobody" }),
  ],
  // A port on which nobody listens.
  [cloudLink.putCloudLink, () => ({ url: "http://127.0.0.1:9", token: `slp_${"a".repeat(40)}` })],
  [
    promotions.promoteProject,
    () => ({
      originProjectId: "prj_elsewhere",
      project: { name: "Shop", source, autoDeploy: true, volumes: ["data:/data"] },
      env: { KEY: "value" },
      domains: [{ hostname: "promoted.test", targetPath: "/shop" }],
      webhookSecret: "0123456789abcdef",
    }),
  ],
  [
    projects.createProject,
    (has) => ({
      name: "Shop",
      serverId: has.servers,
      source,
      build: { port: 3000 },
      healthCheck: { path: "/up" },
      volumes: ["data:/var/lib/data", "cache:/cache:ro"],
    }),
  ],
  [projects.updateProject, () => ({ name: "Shop", rollbackWindow: 3 })],
  [projectEnv.putEnv, () => ({ set: { KEY: "value" }, unset: ["OTHER"] })],
  [
    services.createService,
    () => ({
      name: "web",
      build: { context: "packages/web", dockerfile: "Dockerfile" },
      ports: ["127.0.0.1:8080-8081:80-81/tcp"],
      dependsOn: ["db"],
      environment: { KEY: "value" },
      volumes: ["data:/data", "./conf:/etc/conf:ro"],
      command: "npm start",
      healthCheck: { path: "/up", port: 3000, timeoutSeconds: 30 },
      watchPaths: ["packages/{web,shared}/**"],
      updateStrategy: "rolling",
      resources: { cpus: 0.5, memoryMB: 256 },
    }),
  ],
  [
    services.updateService,
    () => ({ name: "db", image: "postgres:16", environment: { KEY: "other", OTHER: null }, dependsOn: [] }),
  ],
  [domains.createDomain, () => ({ hostname: "shop.test", targetPath: "/shop" })],
  [deployments.createDeployment, (has) => ({ projectId: has.projects, branch: "main" })],
  [uploads.createUploadSession, (has) => ({ projectId: has.projects, mode: "local" })],
  [
    uploads.buildAccess,
    (has) => ({
      projectId: has.projects,
      branch: "main",
      buildStrategy: "static",
      publicEndpoints: [{ port: 80 }],
    }),
  ],
  [deployments.redeploy, () => ({ useExistingCommit: false })],
  [
    notifications.createChannel,
    () => ({ kind: "webhook", label: "ops", config: { url: "https://example.com/hook" } }),
  ],
  [notifications.updateChannel, () => ({ label: "other", verified: true })],
  [
    notifications.putSubscription,
    (has) => ({ category: "deploy.failed", channelId: has.channels, enabled: true }),
  ],
  [notifications.putDefault, () => ({ category: "deploy.succeeded", defaultEnabled: true })],
  [deliveries.replayWebhookDelivery, () => ({ force: false })],
  [deployments.pinDeployment, () => ({ pinned: true })],
]);

/** A body of JSON. What takes raw bytes has tests of its own. */
export function takesBody(route: Route): boolean {
  if (route.policy.body === "raw") return false;
  return (route.request as { body?: unknown } | undefined)?.body !== undefined;
}

export function sampleOf(route: Route, has: Belongings): Record<string, unknown> | undefined {
  if (!takesBody(route)) return undefined;
  const sample = samples.get(route);
  if (sample === undefined) throw new Error(`no sample body for ${route.method} ${route.path}`);
  return sample(has);
}

/** The path with ids filled in. */
export function pathOf(route: Route, has: Belongings): string {
  const [, , first, second] = route.path.split("/");
  const nested = second === "invitations" || first === "notifications";
  const collection = (nested ? second : first) as keyof Belongings;
  const ofServices = route.path.startsWith("/api/projects/{id}/services");
  return route.path
    .replace("{id}", ofServices ? has.projectOfServices : has[collection])
    .replace("{serviceId}", has.serviceId)
    .replace("{domainId}", has.domainId)
    .replace("{userId}", has.userId)
    .replace("{provider}", "git_host");
}
