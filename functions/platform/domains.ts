/**
 * Host names of a project. A change reaches the server's proxy at once when the project is live; when the server does
 * not take it, nothing has changed. A name is unique on the instance, whoever has it.
 */
import { and, desc, eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { hidePoolServer } from "../../shared/db/hide-pool-server.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { domains, projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid, notFound, Refusal } from "../../shared/domain/refusal.ts";
import { type PublicPorts, publicUrl } from "../../shared/proxy/address.ts";
import { applyProxy } from "../../shared/proxy/apply.ts";
import { refuseInCloud } from "./cloud-link/refuse-in-cloud.ts";
import { askingServer } from "./far-side.ts";
import { askHostname, lockHostnames } from "./hostnames.ts";
import type { PlatformParts } from "./parts.ts";
import { isPooled } from "./pool.ts";
import type { ProjectRow } from "./project-row.ts";

type DomainRow = typeof domains.$inferSelect;

export interface NewDomain {
  hostname: string;
  port?: number | undefined;
  targetPath?: string | undefined;
  redirectTo?: string | undefined;
}

export async function listDomains(db: Queryable, principal: Principal, projectId: string, page: PageRequest) {
  const project = await load(db, principal, "project", projectId);
  const ports = await portsOf(db, project);
  const rows = await db
    .select()
    .from(domains)
    .where(and(eq(domains.projectId, projectId), behindCursor(domains.id, page)))
    .orderBy(desc(domains.id))
    .limit(page.limit + 1);
  return toPage(rows, page, (row) => show(row, ports));
}

export async function attachDomain(
  parts: PlatformParts,
  principal: Principal,
  projectId: string,
  wanted: NewDomain,
) {
  const project = await load(parts.db, principal, "project", projectId);
  refuseInCloud(project);
  await requireAppPort(parts.db, project, wanted.port);
  requireOtherTarget(wanted);
  const row: DomainRow = {
    id: newId("domain"),
    organizationId: project.organizationId,
    projectId,
    hostname: wanted.hostname,
    port: wanted.port ?? null,
    targetPath: wanted.targetPath ?? null,
    redirectTo: wanted.redirectTo ?? null,
    createdAt: new Date(parts.clock.nowMs()),
  };
  const resource = { kind: "domain", id: row.id };
  await changeOn(parts, project, {
    async change(tx) {
      await load(tx, principal, "project", projectId);
      await insertFree(parts, tx, row);
      await writeAudit(tx, principal, { action: "domain.attached", resource, fields: ["hostname"] });
    },
    async revert(tx) {
      await tx.delete(domains).where(eq(domains.id, row.id));
      await writeAudit(tx, principal, { action: "domain.attach_undone", resource, fields: ["hostname"] });
    },
  });
  return show(row, await portsOf(parts.db, project));
}

export async function detachDomain(
  parts: PlatformParts,
  principal: Principal,
  projectId: string,
  domainId: string,
): Promise<void> {
  const project = await load(parts.db, principal, "project", projectId);
  const ofProject = and(eq(domains.id, domainId), eq(domains.projectId, projectId));
  const [row] = await parts.db.select().from(domains).where(ofProject);
  if (row === undefined) throw notFound();
  const resource = { kind: "domain", id: domainId };
  await changeOn(parts, project, {
    async change(tx) {
      const gone = await tx.delete(domains).where(ofProject).returning({ id: domains.id });
      if (gone.length === 0) throw notFound();
      await writeAudit(tx, principal, { action: "domain.detached", resource, fields: ["hostname"] });
    },
    async revert(tx) {
      await lockHostnames(tx);
      await tx.insert(domains).values(row).onConflictDoNothing();
      await writeAudit(tx, principal, { action: "domain.detach_undone", resource, fields: ["hostname"] });
    },
  });
}

interface Change {
  change(tx: Transaction): Promise<void>;
  revert(tx: Transaction): Promise<void>;
}

/** The row of the project is held while it is not live, so that a switch at this moment comes after and sees the change. */
async function changeOn(parts: PlatformParts, project: ProjectRow, change: Change): Promise<void> {
  const written = await parts.db.transaction(async (tx) => {
    const [present] = await tx
      .select({ active: projects.activeDeploymentId })
      .from(projects)
      .where(eq(projects.id, project.id))
      .for("share");
    if (present === undefined || present.active !== null) return false;
    await change.change(tx);
    return true;
  });
  if (written) return;
  const { serverId } = project;
  const hidden = await isPooled(parts.db, project);
  await askingServer(() => applyProxy(parts, { serverId, ...change })).catch((error: unknown) => {
    throw hidden ? hidePoolServer(error) : error;
  });
}

async function insertFree(parts: PlatformParts, tx: Transaction, row: DomainRow): Promise<void> {
  await lockHostnames(tx);
  const answer = await askHostname(tx, parts, row);
  if (answer !== "free") {
    const message = answer === "platform" ? "is the address of Slipway itself" : "is taken";
    throw new Refusal("conflict", "hostname_taken", `The host name ${row.hostname} ${message}.`, {
      details: [{ path: "body.hostname", message }],
    });
  }
  await tx.insert(domains).values(row);
}

/** A release listens on one port; another one could not be reached. */
async function requireAppPort(db: Queryable, project: ProjectRow, port: number | undefined): Promise<void> {
  if (port === undefined) return;
  const [active] = await db
    .select({ port: deployments.containerPort })
    .from(deployments)
    .where(eq(deployments.id, project.activeDeploymentId ?? ""));
  const served = active?.port ?? project.build.port;
  if (served !== port) {
    const known = served === undefined ? "is not known yet; leave it out" : `is not the app's port ${served}`;
    throw invalid("body.port", known);
  }
}

function requireOtherTarget(wanted: NewDomain): void {
  if (wanted.redirectTo === undefined) return;
  if (new URL(wanted.redirectTo).hostname === wanted.hostname) {
    throw invalid("body.redirectTo", "must be another host than the one that is redirected");
  }
  if (wanted.targetPath !== undefined)
    throw invalid("body.targetPath", "has no meaning together with redirectTo");
}

async function portsOf(db: Queryable, project: ProjectRow): Promise<PublicPorts> {
  const [ports] = await db
    .select({ httpPort: servers.httpPort, httpsPort: servers.httpsPort })
    .from(servers)
    .where(eq(servers.id, project.serverId));
  return ports ?? { httpPort: 80, httpsPort: 443 };
}

function show(row: DomainRow, ports: PublicPorts) {
  const { id, hostname, port, targetPath, redirectTo } = row;
  const url = publicUrl(hostname, ports);
  return { id, hostname, port, targetPath, redirectTo, url, createdAt: row.createdAt.toISOString() };
}
