/**
 * Whom pushes concern: repositories with a project that has a hook secret of its own, and repositories that two
 * organizations share and the secret of the instance speaks for. All on a server that lets nobody in: deployments come to
 * an end at once and touch nothing.
 */
import { randomBytes } from "node:crypto";
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { credentialPlace, webhookSecretPlace } from "../../shared/domain/sealed-place.ts";
import { seedOrganization } from "../database.ts";
import { generateKeyPair } from "../lab/key-pair.ts";

export interface Repository {
  fullName: string;
  secret: string;
  /** Each of an organization of its own. */
  projects: { id: string; organizationId: string }[];
}

export interface SeededRepositories {
  count: number;
  instanceSecret: string;
  /** On this machine. */
  server: { port: number; hostKey: string };
}

export async function seedRepositories(
  db: Database,
  sealer: Sealer,
  { count, instanceSecret, server }: SeededRepositories,
): Promise<Repository[]> {
  const places = [await seedPlace(db, sealer, server), await seedPlace(db, sealer, server)];
  const repositories: Repository[] = [];
  for (let index = 0; index < count; index++) {
    const isShared = index % 2 === 1;
    const fullName = `acme/r${index}`;
    const secret = isShared ? instanceSecret : randomBytes(16).toString("hex");
    const of = isShared ? places : places.slice(0, 1);
    const made = await Promise.all(
      of.map((place) => seedProject(db, place, fullName, isShared ? null : { sealer, secret })),
    );
    repositories.push({ fullName, secret, projects: made });
  }
  return repositories;
}

interface Place {
  organizationId: string;
  serverId: string;
}

async function seedPlace(
  db: Database,
  sealer: Sealer,
  { port, hostKey }: SeededRepositories["server"],
): Promise<Place> {
  const { organizationId } = await seedOrganization(db);
  const id = newId("server");
  const credential = JSON.stringify({ kind: "key", privateKey: generateKeyPair().privateKey });
  await db.insert(servers).values({
    ...{ id, organizationId, name: "closed", host: "127.0.0.1", port, user: "root", authKind: "key" },
    sealedCredential: await sealer.seal("server", credentialPlace({ id, organizationId }), credential),
    hostKey,
    bootstrappedAt: new Date(),
  });
  return { organizationId, serverId: id };
}

async function seedProject(
  db: Database,
  { organizationId, serverId }: Place,
  fullName: string,
  own: { sealer: Sealer; secret: string } | null,
): Promise<Repository["projects"][number]> {
  const id = newId("project");
  const [owner = "", repo = ""] = fullName.split("/");
  const place = webhookSecretPlace({ id, organizationId });
  await db.insert(projects).values({
    ...{ id, organizationId, serverId, name: repo, slug: id.toLowerCase(), kind: "app", branch: "main" },
    source: { kind: "git", provider: "git_host", owner, repo },
    repository: fullName,
    sealedWebhookSecret: own === null ? null : await own.sealer.seal("webhook", place, own.secret),
  });
  return { id, organizationId };
}
