/**
 * Where each sealed column lies: who seals and who opens must name the same place, and they are different modules
 * (platform seals, edge and deploy open). Names are those of the database.
 */
export interface SealedPlace {
  organizationId: string;
  table: string;
  column: string;
  row: string;
}

interface Owned {
  id: string;
  organizationId: string;
}

/** Class `server`: JSON of a `ShellCredential`. */
export function credentialPlace(server: Owned): SealedPlace {
  return {
    organizationId: server.organizationId,
    table: "servers",
    column: "sealed_credential",
    row: server.id,
  };
}

/** Class `webhook`: the secret with which the git host signs. */
export function webhookSecretPlace(project: Owned): SealedPlace {
  const { organizationId, id } = project;
  return { organizationId, table: "projects", column: "sealed_webhook_secret", row: id };
}

/** Class `env`: one value of the environment. Neither part of the row's key can hold a slash. */
export function envValuePlace(project: Owned, key: string): SealedPlace {
  const { organizationId, id } = project;
  return { organizationId, table: "project_env", column: "sealed_value", row: `${id}/${key}` };
}

/** Class `git`: the token or the private key of a git connection. */
export function gitSecretPlace({ organizationId, id }: Owned): SealedPlace {
  return { organizationId, table: "git_connections", column: "sealed_secret", row: id };
}

/** Class `registry`: the password or token for a registry of images. */
export function registrySecretPlace({ organizationId, id }: Owned): SealedPlace {
  return { organizationId, table: "registries", column: "sealed_secret", row: id };
}

/** Class `cloud`: the token of a link, bound to the address that it may be sent to. No id holds a slash. */
export function cloudTokenPlace(link: { organizationId: string; url: string }): SealedPlace {
  const { organizationId, url } = link;
  return { organizationId, table: "cloud_links", column: "sealed_token", row: `${organizationId}/${url}` };
}

/** Class `env`: all variables of a service, as JSON. */
export function serviceEnvironmentPlace({ organizationId, id }: Owned): SealedPlace {
  return { organizationId, table: "project_services", column: "sealed_environment", row: id };
}

/** Class `notify`: signing key or hook URL of a channel, which belongs to a person and to no organization. */
export function channelSecretPlace({ userId, id }: { userId: string; id: string }): SealedPlace {
  return { organizationId: userId, table: "notification_channels", column: "sealed_secret", row: id };
}

/** Class `idempotency`: the first answer to a request. Neither part of the row's key can hold a slash. */
export function answerPlace(request: {
  organizationId: string;
  credentialId: string;
  keyHash: string;
}): SealedPlace {
  const { organizationId, credentialId, keyHash } = request;
  return {
    organizationId,
    table: "idempotency_answers",
    column: "sealed_answer",
    row: `${credentialId}/${keyHash}`,
  };
}
