/** What of a channel is shown. Columns are named: the sealed secret never leaves. */
import type { notificationChannels } from "../../shared/db/notification-tables.ts";
import { warningsOf } from "./channel-config.ts";

export type ChannelRow = typeof notificationChannels.$inferSelect;

export function showChannel(row: ChannelRow) {
  const { id, kind, label, enabled, verified, lastError } = row;
  const warnings = warningsOf(row.config);
  return {
    id,
    kind,
    label,
    config: { ...row.config, ...shownSecret(row) },
    enabled,
    verified,
    lastError,
    retryAt: row.blockedUntil?.toISOString() ?? null,
    ...(warnings.length === 0 ? {} : { warnings }),
    createdAt: row.createdAt.toISOString(),
  };
}

function shownSecret({ kind, last4 }: ChannelRow) {
  if (last4 === null) return {};
  const secret = { set: true as const, last4 };
  return kind === "slack" ? { webhookUrl: secret } : { signingKey: secret };
}
