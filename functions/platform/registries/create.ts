/**
 * Adds a credential for a registry. One a host, because that is what an engine can be given: with two, which of them a
 * build uses would be chance. Nothing is contacted: that is what `check` is for.
 */
import { and, eq, isNull } from "drizzle-orm";
import { looksSealed } from "../../../shared/crypto/seal.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import { registries } from "../../../shared/db/connection-tables.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { organizations } from "../../../shared/db/identity-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../../shared/domain/refusal.ts";
import { plainRegistryHost } from "../../../shared/domain/registry.ts";
import { registrySecretPlace } from "../../../shared/domain/sealed-place.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { showRegistry } from "./show.ts";

export interface NewRegistry {
  name: string;
  host: string;
  username: string;
  secret: string;
}

export async function createRegistry(parts: PlatformParts, principal: Principal, wanted: NewRegistry) {
  refuseNarrowed(principal, "add a registry, which all projects share");
  const { name, username, secret } = wanted;
  if (looksSealed(secret)) throw invalid("body.secret", "must not start with `sealed:v`");
  const host = plainRegistryHost(wanted.host);
  const { organizationId } = principal;
  const id = newId("registry");
  const sealedSecret = await parts.sealer.seal(
    "registry",
    registrySecretPlace({ id, organizationId }),
    secret,
  );
  // Four letters of a short secret would be too much of it.
  const last4 = secret.length < 12 ? "" : secret.slice(-4);
  return parts.db.transaction(async (tx) => {
    await refuseMore(tx, organizationId, host);
    const [row] = await tx
      .insert(registries)
      .values({ id, organizationId, name, host, username, sealedSecret, last4 })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    await writeAudit(tx, principal, { action: "registry.created", resource: { kind: "registry", id } });
    return showRegistry(row);
  });
}

async function refuseMore(tx: Transaction, organizationId: string, host: string): Promise<void> {
  // One writer at a time: what is counted here must hold.
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("no key update");
  const present = await tx
    .select({ host: registries.host })
    .from(registries)
    .where(and(eq(registries.organizationId, organizationId), isNull(registries.deletedAt)));
  if (present.some((each) => each.host === host)) {
    throw new Refusal(
      "conflict",
      "registry_exists",
      `There is a credential for ${host} already. Delete it first to replace it.`,
      { details: [{ path: "body.host", message: "has a credential already" }] },
    );
  }
  if (present.length >= limits.registriesMost) {
    throw new Refusal(
      "conflict",
      "too_many_registries",
      `An organization has at most ${limits.registriesMost} registries. Delete one that is not used.`,
    );
  }
}
