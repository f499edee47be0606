/**
 * Who gets an alert, and on which channel: a pure function over the members' channels (decisions.md section 6). Only
 * members who may read the resource; a subscription row decides, else the organization's default, else the registry's.
 * A feed holds an alert once, however many in-app channels a person has.
 */
import type { ChannelKind, DeliveryStatus } from "../../shared/domain/notification.ts";
import { categoryOf } from "../../shared/domain/notification.ts";
import { permissionsOfRole, type Role } from "../../shared/domain/permission.ts";

export interface Candidate {
  channelId: string;
  userId: string;
  role: Role;
  kind: ChannelKind;
  enabled: boolean;
  verified: boolean;
  projectIds: string[] | null;
  serverIds: string[] | null;
  /** What the subscription row says; null: there is none. */
  subscribed: boolean | null;
}

export interface ToldAlert {
  category: string;
  userId: string | null;
  projectId: string | null;
  serverId: string | null;
}

export interface Recipient {
  channelId: string;
  userId: string;
  kind: ChannelKind;
  status: DeliveryStatus;
  why: string | null;
}

export function chooseRecipients(
  alert: ToldAlert,
  candidates: readonly Candidate[],
  defaultEnabled: boolean,
): Recipient[] {
  const fed = new Set<string>();
  return candidates.flatMap((one): Recipient[] => {
    const wanted = one.subscribed ?? defaultEnabled;
    if (!wanted || !mayRead(alert, one) || !isWithin(alert, one)) return [];
    const { channelId, userId, kind } = one;
    if (!one.enabled || !one.verified) {
      const why = one.enabled ? "The channel is not verified." : "The channel is disabled.";
      return one.subscribed === true ? [{ channelId, userId, kind, status: "suppressed", why }] : [];
    }
    if (kind !== "in_app") return [{ channelId, userId, kind, status: "queued", why: null }];
    if (fed.has(userId)) return [];
    fed.add(userId);
    return [{ channelId, userId, kind, status: "sent", why: null }];
  });
}

function mayRead(alert: ToldAlert, { userId, role }: Candidate): boolean {
  if (alert.userId === userId) return true;
  const category = categoryOf(alert.category);
  return category !== undefined && permissionsOfRole(role).has(category.permission);
}

/** A channel that a narrowed token made tells no more than that token saw. */
function isWithin({ projectId, serverId }: ToldAlert, { projectIds, serverIds }: Candidate): boolean {
  const project = projectIds === null || (projectId !== null && projectIds.includes(projectId));
  const server = serverIds === null || (serverId !== null && serverIds.includes(serverId));
  return project && server;
}
