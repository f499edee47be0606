/**
 * Who may have which host name: a name belongs to one project of the instance, whether it is attached as a domain or
 * is the default address that a slug makes. Both ways of taking one pass the same lock, so that two takers never both
 * find a name free.
 */
import { and, eq, isNull, sql } from "drizzle-orm";
import type { Transaction } from "../../shared/db/database.ts";
import { domains, projects } from "../../shared/db/schema.ts";
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
export async function slugIsFree(tx: Transaction, space: NameSpace, slug: string): Promise<boolean> {
  const hostname = defaultHostname(slug, space.baseDomain);
  if (hostname === platformHostname(space)) return false;
  const ofProjects = await tx.$count(projects, and(eq(projects.slug, slug), isNull(projects.deletedAt)));
  return ofProjects === 0 && (await tx.$count(domains, eq(domains.hostname, hostname))) === 0;
}

export type HostnameAnswer = "free" | "taken" | "platform";

/** Under `lockHostnames`. The default address of a project is never a domain, not even its own: it is served anyway. */
export async function askHostname(
  tx: Transaction,
  space: NameSpace,
  hostname: string,
): Promise<HostnameAnswer> {
  if (hostname === platformHostname(space)) return "platform";
  if ((await tx.$count(domains, eq(domains.hostname, hostname))) > 0) return "taken";
  const slug = slugOf(hostname, space.baseDomain);
  if (slug === null) return "free";
  const ofProjects = await tx.$count(projects, and(eq(projects.slug, slug), isNull(projects.deletedAt)));
  return ofProjects > 0 ? "taken" : "free";
}

function slugOf(hostname: string, baseDomain: string): string | null {
  if (!hostname.endsWith(`.${baseDomain}`)) return null;
  const label = hostname.slice(0, -baseDomain.length - 1);
  return label.includes(".") ? null : label;
}

function platformHostname(space: NameSpace): string {
  return new URL(space.baseUrl).hostname;
}
