/**
 * Routes of deployments for projects that live in the cloud: what the module would do here is asked of the linked cloud,
 * after the same checks of tag, organization, narrowing and admin rules, and the paths stay the same. It stands before
 * the handlers and lets everything else pass. By-id routes are taken from the contract, so that a new one is proxied
 * from its first day. Rejected: keeping copies of the cloud's rows (they would be wrong whenever it matters).
 */
import type { Context, Next } from "hono";
import { allRoutes } from "../../../shared/contract/all-routes.ts";
import * as contract from "../../../shared/contract/deployments.ts";
import * as uploadContract from "../../../shared/contract/uploads.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import { findProject, type PromotedProject, projectOfCloudId } from "../../../shared/db/cloud-tenancy.ts";
import type { Database } from "../../../shared/db/database.ts";
import { admit } from "../../../shared/db/tenancy.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { ModuleApp, ModuleEnv } from "../../../shared/http/module-app.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import { assertAdmin } from "../roll-back.ts";
import { refuseFolders } from "../uploads/session.ts";
import { type CloudParts, openCloudLine, readJson } from "./cloud-line.ts";
import { headersToPass, headersToReturn, passThrough } from "./pass-through.ts";
import { promote } from "./promote.ts";
import { deploymentIdsIn, rememberDeployments } from "./remember.ts";

export interface ProxyParts extends CloudParts {
  db: Database;
  clock: Clock;
  /** Ends open streams when the process stops. */
  stopping?: AbortSignal;
}

type C = Context<ModuleEnv>;

/** Need deployment:admin on top of their tag (spec.md "Authentication" 4). */
const adminPaths = [contract.rollbackDeployment.path, contract.cancelDeployment.path] as readonly string[];

export function addCloudProxy(app: ModuleApp, parts: ProxyParts): void {
  app.on("GET", contract.listDeployments.getRoutingPath(), listThere(parts));
  for (const route of [contract.createDeployment, uploadContract.buildAccess]) {
    app.on(
      "POST",
      route.getRoutingPath(),
      startThere(parts, route.request.body.content["application/json"].schema),
    );
  }
  for (const route of allRoutes) {
    if (route.policy.module !== "deploy" || !route.path.startsWith("/api/deployments/{id}")) continue;
    const options = { admin: adminPaths.includes(route.path), read: route.method === "get" };
    app.on(route.method.toUpperCase(), route.getRoutingPath(), byId(parts, options));
  }
}

/** With a project: the cloud's own list. Without one, what is here. */
function listThere(parts: ProxyParts) {
  return async (c: C, next: Next) => {
    const url = new URL(c.req.url);
    const asked = url.searchParams.get("projectId");
    const project = asked === null ? undefined : await findProject(parts.db, c.get("principal"), asked);
    if (project?.location !== "cloud") return next();
    url.searchParams.set("projectId", project.cloudProjectId ?? "");
    return ask(parts, c, project, { method: "GET", path: `${url.pathname}${url.search}`, remembers: true });
  };
}

interface Asked {
  projectId: string;
  deployTarget?: "local" | "cloud" | undefined;
  uploadSessionId?: string | undefined;
}

/** `schema`: what does not pass it is refused by the handler behind, which says what is wrong. */
function startThere(
  parts: ProxyParts,
  schema: { safeParse: (value: unknown) => { success: boolean; data?: unknown } },
) {
  return async (c: C, next: Next) => {
    const parsed = schema.safeParse(await c.req.json().catch(() => undefined));
    if (!parsed.success) return next();
    const { deployTarget, ...asked } = parsed.data as Asked;
    const project = await findProject(parts.db, c.get("principal"), asked.projectId);
    if (project === undefined || (project.location === "local" && deployTarget !== "cloud")) return next();
    const line = await openCloudLine(parts, project.organizationId);
    if (asked.uploadSessionId !== undefined || project.source.kind === "upload") throw refuseFolders();
    const start = (projectId: string | null) => {
      const json = { ...asked, projectId };
      return ask(parts, c, project, { method: "POST", path: c.req.path, json, remembers: true });
    };
    if (project.location === "cloud") {
      const answer = await start(project.cloudProjectId);
      if (answer.status !== 404) return answer;
      if (deployTarget !== "cloud") throw notInCloud();
    }
    return start(await promote(parts, line, c.get("principal"), project));
  };
}

/** Deleted there, or the link leads to another account by now: nobody should have to make the project anew for that. */
function notInCloud(): Refusal {
  return new Refusal(
    "not_found",
    "project_not_in_cloud",
    'The linked account does not have this project any more; deploy it with deployTarget "cloud" to promote it again.',
  );
}

function byId(parts: ProxyParts, { admin, read }: { admin: boolean; read: boolean }) {
  return async (c: C, next: Next) => {
    const id = c.req.param("id") ?? "";
    const principal = c.get("principal");
    const project = await projectOfCloudId(parts.db, principal, "deployment", id);
    if (project === undefined) return next();
    if (admin) assertAdmin(principal);
    const { pathname, search } = new URL(c.req.url);
    const path = `${pathname}${search}`;
    if (read) return ask(parts, c, project, { method: c.req.method, path, remembers: false });
    const json = await bodyOf(c);
    return ask(parts, c, project, { method: c.req.method, path, ...json, remembers: true });
  };
}

/** As it is; whether it fits, the cloud says. */
async function bodyOf(c: C): Promise<{ json?: unknown }> {
  const text = await c.req.text();
  if (text === "") return {};
  try {
    return { json: JSON.parse(text) };
  } catch (cause) {
    throw new Refusal("validation", "malformed_json", "The body is not valid JSON.", { cause });
  }
}

interface Request {
  method: string;
  path: string;
  json?: unknown;
  /** The answer is a small one about deployments. */
  remembers: boolean;
}

async function ask(parts: ProxyParts, c: C, project: PromotedProject, request: Request): Promise<Response> {
  const over = new AbortController();
  const { stopping } = parts;
  const ends = [c.req.raw.signal, over.signal, ...(stopping === undefined ? [] : [stopping])];
  const { remembers, ...sent } = request;
  const line = await openCloudLine(parts, project.organizationId);
  const answer = await line.send({
    ...sent,
    headers: headersToPass(c.req.raw.headers),
    signal: AbortSignal.any(ends),
  });
  if (!remembers) {
    const mayStillRead = () => stillReads(parts, c, project);
    return passThrough(answer, { mayStillRead, clock: parts.clock, over });
  }
  const body = await readJson(answer);
  if (answer.status < 300) await note(parts, c, project, request, deploymentIdsIn(body));
  return Response.json(body, { status: answer.status, headers: headersToReturn(answer) });
}

/** What came back is found again by its id; what changed something there stands in the audit here. */
async function note(
  { db }: ProxyParts,
  c: C,
  project: PromotedProject,
  { method, path }: Request,
  ids: readonly string[],
): Promise<void> {
  await rememberDeployments(db, project, ids);
  if (method === "GET") return;
  const last = path.split("?", 1)[0]?.split("/").at(-1) ?? "";
  await writeAudit(db, c.get("principal"), {
    action: "deployment.asked_of_cloud",
    resource: { kind: "project", id: project.id },
    fields: [last, ...ids],
  });
}

/** Asked while a stream is open: a revoked token, a lost membership or a project that is gone ends it. */
async function stillReads({ db }: ProxyParts, c: C, project: PromotedProject): Promise<boolean> {
  const principal = c.get("principal");
  const now = await admit(db, { ...principal, permissions: [...principal.permissions] });
  const present = await findProject(db, now, project.id);
  return present?.location === "cloud" && now.permissions.has("deployment:read");
}
