/** Creates a project; nothing is deployed yet, but its webhook is registered where that goes. Its slug is unique on the instance, since it becomes a host name. */
import { randomInt } from "node:crypto";
import { eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Transaction } from "../../shared/db/database.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type {
  BuildSettings,
  HealthCheck,
  ProjectKind,
  ProjectSource,
  Resources,
} from "../../shared/domain/project.ts";
import { invalid, notFound, Refusal } from "../../shared/domain/refusal.ts";
import { useConnection } from "./git-connections/use.ts";
import { registerWithSource } from "./hooks/follow-source.ts";
import { lockHostnames, type NameSpace, slugIsFree } from "./hostnames.ts";
import type { PlatformParts } from "./parts.ts";
import { placeOnPool } from "./pool.ts";
import { type ProjectRow, showProject } from "./project-row.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";

export interface ProjectSettings {
  autoDeploy?: boolean | undefined;
  rebuildAllNext?: boolean | undefined;
  rootDirectory?: string | null | undefined;
  buildStrategy?: string | undefined;
  build?: BuildSettings | undefined;
  healthCheck?: HealthCheck | undefined;
  updateStrategy?: "rolling" | "recreate" | null | undefined;
  resources?: Resources | undefined;
  volumes?: string[] | undefined;
  rollbackWindow?: number | undefined;
}

export interface NewProject extends ProjectSettings {
  name: string;
  slug?: string | undefined;
  kind: ProjectKind;
  /** Absent: the operator's pool finds one. */
  serverId?: string | undefined;
  source: ProjectSource;
}

export async function createProject(parts: PlatformParts, principal: Principal, wanted: NewProject) {
  refuseNarrowed(principal, "add a project", ["projectIds"]);
  if (wanted.serverId === undefined) refuseNarrowed(principal, "add a project elsewhere");
  const made = await parts.db.transaction((tx) => insertProject(tx, parts, principal, wanted));
  const row = await registerWithSource(parts, principal, made);
  return showProject(parts.db, row, parts.baseDomain);
}

/** What of it is in the database; whoever calls registers the webhook once the transaction is over. */
export async function insertProject(
  tx: Transaction,
  space: NameSpace & Pick<PlatformParts, "poolServers">,
  principal: Principal,
  wanted: NewProject,
): Promise<ProjectRow> {
  const { slug: wantedSlug, serverId: named, source, ...settings } = wanted;
  requireVolumesOfApp(wanted.kind, wanted.volumes);
  if (named !== undefined) {
    await load(tx, principal, "server", named);
    await keepServer(tx, named);
  }
  await useConnection(tx, principal, source);
  await lockHostnames(tx);
  // Under that lock two that come at once see each other's place.
  const serverId = named ?? (await placeOnPool(tx, space.poolServers));
  const { organizationId } = principal;
  const isFree = (slug: string) => slugIsFree(tx, space, slug, organizationId);
  const slug = await chooseSlug(isFree, wantedSlug, wanted.name);
  const [row] = await tx
    .insert(projects)
    .values({ id: newId("project"), organizationId, slug, serverId, ...settings, ...sourceColumns(source) })
    .returning();
  if (row === undefined) throw new Error("The insert returned no row");
  await writeAudit(tx, principal, { action: "project.created", resource: { kind: "project", id: row.id } });
  return row;
}

/** The columns that stand for a source; `repository` is how a push finds its projects. */
export function sourceColumns(source: ProjectSource) {
  if (source.kind === "upload") return { source, repository: null, branch: null };
  return {
    source,
    repository: `${source.owner}/${source.repo}`.toLowerCase(),
    branch: source.branch ?? null,
  };
}

/** Services have volumes of their own. */
export function requireVolumesOfApp(kind: ProjectKind, volumes: readonly string[] | undefined): void {
  if (kind === "app" || volumes === undefined || volumes.length === 0) return;
  throw invalid("body.volumes", `belong to the services of a project of kind ${kind}`);
}

/** A server that is being deleted at this moment takes no project. */
async function keepServer(tx: Transaction, serverId: string): Promise<void> {
  const [row] = await tx
    .select({ deletedAt: servers.deletedAt })
    .from(servers)
    .where(eq(servers.id, serverId))
    .for("key share");
  if (row === undefined || row.deletedAt !== null) throw notFound();
}

async function chooseSlug(
  isFree: (slug: string) => Promise<boolean>,
  wanted: string | undefined,
  name: string,
): Promise<string> {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted;
    throw new Refusal("conflict", "slug_taken", `The slug ${wanted} is taken; choose another one.`, {
      details: [{ path: "body.slug", message: "is taken" }],
    });
  }
  const base = slugFrom(name);
  if (await isFree(base)) return base;
  for (let attempt = 0; attempt < attemptsMost; attempt++) {
    const candidate = `${base.slice(0, 34).replace(/-+$/, "")}-${randomInt(1_000, 99_999)}`;
    if (await isFree(candidate)) return candidate;
  }
  throw new Refusal("conflict", "slug_taken", "No free slug was found for this name; give one in `slug`.");
}

const attemptsMost = 20;

/** `Meine App (neu)` → `meine-app-neu`. A name without any usable letter becomes `app`. */
export function slugFrom(name: string): string {
  const letters = name.normalize("NFKD").replace(/\p{M}+/gu, "");
  // By way of upper case, in which ß and ligatures are two letters.
  const dashed = letters
    .toUpperCase()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return dashed.replace(/^-+/, "").slice(0, 40).replace(/-+$/, "") || "app";
}
