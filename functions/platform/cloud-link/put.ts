/**
 * Links the organization to its account in the cloud, or changes the link. Nothing is stored that the cloud has not
 * confirmed; a new address asks for the token again, since a kept secret is never sent to a new place.
 */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../../shared/domain/refusal.ts";
import { cloudTokenPlace } from "../../../shared/domain/sealed-place.ts";
import type { PlatformParts } from "../parts.ts";
import { askCloud } from "./ask-cloud.ts";
import { type CloudLinkRow, linkOf, requireMayLink, showCloudLink } from "./show.ts";

export interface WantedLink {
  url: string;
  token?: string | undefined;
}

export async function putCloudLink(parts: PlatformParts, principal: Principal, wanted: WantedLink) {
  requireMayLink(principal);
  const { organizationId } = principal;
  const url = new URL(wanted.url).origin;
  const before = await linkOf(parts.db, organizationId);
  const token = wanted.token ?? (await storedToken(parts, before, url));
  const account = await askCloud(parts.outgoing, { url, token });
  if (account.organizationId === organizationId) {
    throw invalid("body.url", "is this very instance", "cloud_is_this_instance");
  }
  const sealedToken = await parts.sealer.seal("cloud", cloudTokenPlace({ organizationId, url }), token);
  const values = {
    ...{ url, sealedToken, last4: token.slice(-4) },
    cloudOrganizationId: account.organizationId,
    cloudOrganizationName: account.organizationName,
    updatedAt: new Date(parts.clock.nowMs()),
  };
  return parts.db.transaction(async (tx) => {
    const [present] = await tx
      .select({ url: cloudLinks.url, sealedToken: cloudLinks.sealedToken })
      .from(cloudLinks)
      .where(eq(cloudLinks.organizationId, organizationId))
      .for("update");
    // Else the old token would come back over one that somebody else has just given.
    if (wanted.token === undefined && present?.sealedToken !== before?.sealedToken) throw changedMeanwhile();
    const [row] = await tx
      .insert(cloudLinks)
      .values({ organizationId, ...values })
      .onConflictDoUpdate({ target: cloudLinks.organizationId, set: values })
      .returning();
    if (row === undefined) throw new Error("The upsert returned no row");
    const fields = [
      ...(present?.url === url ? [] : ["url"]),
      ...(wanted.token === undefined ? [] : ["token"]),
    ];
    const action = present === undefined ? "cloud_link.created" : "cloud_link.updated";
    await writeAudit(tx, principal, { action, resource: { kind: "cloud_link", id: organizationId }, fields });
    return showCloudLink(row);
  });
}

function storedToken({ sealer }: PlatformParts, row: CloudLinkRow | undefined, url: string): Promise<string> {
  if (row !== undefined && row.url === url) {
    return sealer.open("cloud", cloudTokenPlace(row), row.sealedToken);
  }
  const message =
    row === undefined
      ? "is needed"
      : "is needed again when url changes: a kept secret is never sent to a new place";
  throw invalid("body.token", message, "credential_required");
}

function changedMeanwhile(): Refusal {
  return new Refusal("conflict", "cloud_link_changed", "The link was changed by somebody else; ask again.");
}
