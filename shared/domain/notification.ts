/**
 * The words of notifications, and the registry of what people can be told (decisions.md section 6). The registry is
 * data, so that the contract, the fan-out and the tests read one list. `comesWith` names a route that belongs to the
 * operation: as soon as it is mounted something must raise the category, and a test fails until it does.
 */
import type { Permission } from "./permission.ts";

export const channelKinds = ["email", "webhook", "in_app", "slack"] as const;
export type ChannelKind = (typeof channelKinds)[number];

export const deliveryStatuses = ["queued", "sending", "sent", "failed", "suppressed"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const severities = ["info", "warning", "error"] as const;
export type Severity = (typeof severities)[number];

export interface Category {
  id: string;
  label: string;
  description: string;
  defaultEnabled: boolean;
  severity: Severity;
  /** Who holds it may read the resource, and is told. */
  permission: Permission;
  /** A route of the operation that raises it. */
  comesWith: string;
}

const deploy = { permission: "deployment:read", comesWith: "/api/deployments" } as const;
const backup = {
  permission: "backup_destination:backup_run:read",
  comesWith: "/api/backup-runs/{runId}",
} as const;
const drill = { ...backup, comesWith: "/api/backup-runs/{runId}/drill" } as const;
const restore = {
  permission: "backup_destination:backup_restore:read",
  comesWith: "/api/backup-restores/{restoreId}",
} as const;
const domain = { permission: "project:read", comesWith: "/api/deployments/ssl/status" } as const;
const server = { permission: "server:read", comesWith: "/api/servers" } as const;
const mail = { permission: "mail_server:read", comesWith: "/api/mail/setup" } as const;
const organization = { permission: "organization:read", comesWith: "/api/members" } as const;

const on = true;
const off = false;

export const categories = [
  one("deploy.succeeded", "Deployment succeeded", "A new version went live.", off, "info", deploy),
  one("deploy.failed", "Deployment failed", "A deployment ended without going live.", on, "error", deploy),
  one(
    "deploy.partial",
    "Deployment partly failed",
    "Some services of a deployment are up, others are not.",
    on,
    "error",
    {
      ...deploy,
      comesWith: "/api/deployments/{id}/keep",
    },
  ),
  one("deploy.cancelled", "Deployment cancelled", "Somebody ended a deployment.", off, "info", deploy),
  one(
    "deploy.needs_attention",
    "Deployment waits for a person",
    "A deployment has a question.",
    on,
    "warning",
    {
      ...deploy,
      comesWith: "/api/deployments/{id}/build/respond",
    },
  ),
  one("backup.succeeded", "Backup succeeded", "A backup was made and read back.", off, "info", backup),
  one("backup.failed", "Backup failed", "A backup was not made.", on, "error", backup),
  one(
    "backup.drill_failed",
    "Restore drill failed",
    "A backup could not be restored in a drill.",
    on,
    "error",
    drill,
  ),
  one("restore.completed", "Restore completed", "Data came back from a backup.", on, "info", restore),
  one("restore.failed", "Restore failed", "Data did not come back from a backup.", on, "error", restore),
  one(
    "domain.expiring",
    "Certificate expires",
    "The certificate of a domain ends soon.",
    on,
    "warning",
    domain,
  ),
  one(
    "domain.renewal_failed",
    "Certificate not renewed",
    "A certificate could not be renewed.",
    on,
    "error",
    domain,
  ),
  one(
    "server.unreachable",
    "Server unreachable",
    "A server missed three checks in a row.",
    on,
    "error",
    server,
  ),
  one("server.recovered", "Server recovered", "An unreachable server answers again.", on, "info", server),
  one(
    "server.disk_low",
    "Disk almost full",
    "Less than 10 % of a server's disk is free.",
    on,
    "warning",
    server,
  ),
  one("mail.setup_completed", "Mail set up", "A mail server is ready.", on, "info", mail),
  one("mail.setup_failed", "Mail set-up failed", "A mail server could not be set up.", on, "error", mail),
  one(
    "mail.dns_unhealthy",
    "Mail DNS unhealthy",
    "Records of a mail domain are missing or wrong.",
    on,
    "warning",
    mail,
  ),
  one(
    "mail.component_down",
    "Mail component down",
    "A part of a mail server does not work.",
    on,
    "error",
    mail,
  ),
  one(
    "webhook.rejected",
    "Deliveries rejected",
    "Deliveries of a repository have a wrong signature.",
    on,
    "warning",
    {
      permission: "webhook:read",
      comesWith: "/api/webhooks/{provider}",
    },
  ),
  one("member.added", "Member added", "Somebody joined the organization.", on, "info", organization),
  one(
    "member.removed",
    "Member removed",
    "Somebody was removed from the organization.",
    on,
    "info",
    organization,
  ),
  one("token.created", "Access token created", "A new access token was made.", on, "warning", {
    permission: "token:admin",
    comesWith: "/api/tokens",
  }),
] as const satisfies readonly Category[];

export type CategoryId = (typeof categories)[number]["id"];

export function categoryOf(id: string): Category | undefined {
  return categories.find((each) => each.id === id);
}

function one<Id extends string>(
  id: Id,
  label: string,
  description: string,
  defaultEnabled: boolean,
  severity: Severity,
  more: Pick<Category, "permission" | "comesWith">,
) {
  return { id, label, description, defaultEnabled, severity, ...more };
}
