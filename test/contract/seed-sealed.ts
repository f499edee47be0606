/** Rows with sealed values, and a feed, as the product would have written them. */
import { eq } from "drizzle-orm";
import type { Sealer } from "../../shared/crypto/seal.ts";
import { gitConnections, registries } from "../../shared/db/connection-tables.ts";
import type { Database } from "../../shared/db/database.ts";
import { beginNotifications } from "../../shared/db/notification-membership.ts";
import { notificationDeliveries, notificationSubscriptions } from "../../shared/db/notification-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { gitSecretPlace, registrySecretPlace } from "../../shared/domain/sealed-place.ts";

interface Sealed {
  db: Database;
  sealer: Sealer;
}

/** A feed with one alert in it. */
export async function seedNotifications(db: Database, owner: { organizationId: string; userId: string }) {
  await beginNotifications(db, owner);
  const [subscription] = await db
    .select()
    .from(notificationSubscriptions)
    .where(eq(notificationSubscriptions.userId, owner.userId))
    .limit(1);
  if (subscription === undefined) throw new Error("a membership began without subscriptions");
  const id = newId("notificationDelivery");
  const { channelId } = subscription;
  await db.insert(notificationDeliveries).values({
    ...{ id, ...owner, channelId, channelKind: "in_app", status: "sent", createdAt: new Date() },
    ...{ category: "deploy.failed", severity: "error", title: "t", message: "m" },
    ...{ resourceType: "deployment", resourceId: "dep_x" },
  });
  return { channels: channelId, subscriptions: subscription.id, deliveries: id };
}

export async function seedGitConnection({ db, sealer }: Sealed, organizationId: string): Promise<string> {
  const id = newId("gitConnection");
  const sealedSecret = await sealer.seal("git", gitSecretPlace({ id, organizationId }), "token-of-nobody");
  const row = { name: "git", provider: "git_host", baseUrl: "https://git.test", kind: "token" } as const;
  await db.insert(gitConnections).values({ id, organizationId, ...row, sealedSecret, last4: "body" });
  return id;
}

export async function seedRegistry({ db, sealer }: Sealed, organizationId: string): Promise<string> {
  const id = newId("registry");
  const place = registrySecretPlace({ id, organizationId });
  const sealedSecret = await sealer.seal("registry", place, "secret-of-nobody");
  const row = { name: "registry", host: "registry.test", username: "ada", last4: "body" };
  await db.insert(registries).values({ id, organizationId, ...row, sealedSecret });
  return id;
}
