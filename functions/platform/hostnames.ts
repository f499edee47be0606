/**
 * Who may have which host name: a name belongs to one project of the instance, whether it is attached as a domain or
 * is the default address that a slug makes. Both ways of taking one pass the same lock, so that two takers never both
 * find a name free. What lies below the default address of a project is its organization's: the wildcard record of the base
 * domain leads there as well, and a stranger under that name could take sign-ins and set cookies for the project.
 */
import { and, eq, isNull, ne, sql } from "drizzle-orm";
import type { Transaction } from "../../shared/db/database.ts";
import { domains, projects } from "../../shared/db/project-tables.ts";
import { defaultHostname } from "../../shared/proxy/address.ts";

export interface NameSpace {
  baseDomain: string;
  baseUrl: string;
}

/** Held until the transaction ends. */
export async function lockHostnames(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('slipway.hostnames', 0))`);
}

/** Under `lockHostnames`. */
export async function slugIsFree(
  tx: Transaction,
  space: NameSpace,
  slug: string,
  organizationId: string,
): Promise<boolean> {
  const hostname = defaultHostname(slug, space.baseDomain);
  if (hostname === platformHostname(space)) return false;
  const ofProjects = await tx.$count(projects, and(eq(projects.slug, slug), isNull(projects.deletedAt)));
  if (ofProjects > 0 || (await tx.$count(domains, eq(domains.hostname, hostname))) > 0) return false;
  const below = `.${hostname}`;
  const isBelow = sql`right(${domains.hostname}, ${below.length}::int) = ${below}`;
  return (await tx.$count(domains, and(isBelow, ne(domains.organizationId, organizationId)))) === 0;
}

export type HostnameAnswer = "free" | "taken" | "platform";

/** Under `lockHostnames`. The default address of a project is never a domain, not even its own: it is served anyway. */
export async function askHostname(
  tx: Transaction,
  space: NameSpace,
  { hostname, organizationId }: { hostname: string; organizationId: string },
): Promise<HostnameAnswer> {
  if (hostname === platformHostname(space)) return "platform";
  if ((await tx.$count(domains, eq(domains.hostname, hostname))) > 0) return "taken";
  if (!hostname.endsWith(`.${space.baseDomain}`)) return "free";
  const labels = hostname.slice(0, -space.baseDomain.length - 1).split(".");
  const holds = and(eq(projects.slug, labels.at(-1) ?? ""), isNull(projects.deletedAt));
  const isDeeper = labels.length > 1;
  const inTheWay = isDeeper ? and(holds, ne(projects.organizationId, organizationId)) : holds;
  return (await tx.$count(projects, inTheWay)) > 0 ? "taken" : "free";
}

function platformHostname(space: NameSpace): string {
  return new URL(space.baseUrl).hostname;
}
