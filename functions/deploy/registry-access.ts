/**
 * Credentials for private images, read when a story is opened and never part of the snapshot: one that was replaced
 * meanwhile is the one that works. All of the organization's; the build itself takes those that its Dockerfile names.
 */
import { and, eq, isNull } from "drizzle-orm";
import type { Sealer } from "../../shared/crypto/seal.ts";
import { registries } from "../../shared/db/connection-tables.ts";
import type { Queryable } from "../../shared/db/database.ts";
import { registrySecretPlace } from "../../shared/domain/sealed-place.ts";

/** A registry's credential with its secret, opened. */
export interface RegistryAccess {
  host: string;
  username: string;
  secret: string;
}

export async function readRegistryAccess(
  db: Queryable,
  sealer: Sealer,
  organizationId: string,
): Promise<RegistryAccess[]> {
  const rows = await db
    .select({
      id: registries.id,
      host: registries.host,
      username: registries.username,
      sealedSecret: registries.sealedSecret,
    })
    .from(registries)
    .where(and(eq(registries.organizationId, organizationId), isNull(registries.deletedAt)));
  return Promise.all(
    rows.map(async ({ id, host, username, sealedSecret }) => {
      const secret = await sealer.open("registry", registrySecretPlace({ id, organizationId }), sealedSecret);
      return { host, username, secret };
    }),
  );
}
