/**
 * The tables of notifications, outbox, channels, what goes to which of them, and the health
 * of servers that the monitor watches. Alerts have no foreign keys, since an alert must never fail the work that raises
 * it. Times that the runner compares are written by its clock, not by the database's.
 */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgSequence,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { ChannelKind, DeliveryStatus, Severity } from "../domain/notification.ts";
import { at, createdAt } from "./columns.ts";
import { organizations, users } from "./identity-tables.ts";
import { servers } from "./server-tables.ts";

const said = () => ({
  category: text().notNull(),
  severity: text().$type<Severity>().notNull(),
  title: text().notNull(),
  message: text().notNull(),
  /** Path on the platform, or null. */
  link: text(),
  resourceType: text().notNull(),
  resourceId: text().notNull(),
  /** Where the resource belongs, for narrowed tokens and channels. */
  projectId: text(),
  serverId: text(),
});

/** The outbox: written in the transaction of what happened, told by the runner afterwards. */
export const alerts = pgTable(
  "alerts",
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    ...said(),
    /** Whom it is about: told beside those whose role may read the resource. */
    userId: text(),
    createdAt: createdAt(),
    toldAt: at(),
  },
  (table) => [
    index("alerts_waiting").on(table.id).where(sql`told_at is null`),
    index("alerts_resource").on(table.resourceId, table.category, table.id),
  ],
);

/** Belongs to a person and serves all of that person's organizations. */
export const notificationChannels = pgTable(
  "notification_channels",
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id),
    kind: text().$type<ChannelKind>().notNull(),
    label: text().notNull(),
    /** What may be shown: address or url. */
    config: jsonb().$type<{ address?: string; url?: string }>().notNull().default({}),
    /** Signing key or hook URL. */
    sealedSecret: text(),
    last4: text(),
    /** Bumped by every change of config: a test that was sent before verifies nothing. */
    revision: integer().notNull().default(1),
    enabled: boolean().notNull().default(true),
    verified: boolean().notNull().default(false),
    /** Of the narrowed token that made it: it tells no more than that token saw. */
    projectIds: jsonb().$type<string[] | null>(),
    serverIds: jsonb().$type<string[] | null>(),
    /** Failures in a row, since when, and until when nothing is tried. */
    failures: integer().notNull().default(0),
    failingSince: at(),
    blockedUntil: at(),
    lastError: text(),
    /** Who sends to it, and until when: one delivery a channel is in flight. */
    leaseToken: bigint({ mode: "number" }),
    leaseUntil: at(),
    createdAt: createdAt(),
    deletedAt: at(),
  },
  (table) => [index("notification_channels_user").on(table.userId, table.id)],
);

export const notificationSubscriptions = pgTable(
  "notification_subscriptions",
  {
    id: text().primaryKey(),
    userId: text().notNull(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    channelId: text()
      .notNull()
      .references(() => notificationChannels.id),
    category: text().notNull(),
    enabled: boolean().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (table) => [
    uniqueIndex("notification_subscriptions_one").on(table.channelId, table.organizationId, table.category),
    index("notification_subscriptions_user").on(table.userId, table.organizationId, table.id),
  ],
);

export const notificationDefaults = pgTable(
  "notification_defaults",
  {
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    category: text().notNull(),
    defaultEnabled: boolean().notNull(),
    updatedAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.category] })],
);

/** Grows with every change of a delivery, so that a stream can ask for what is new. */
export const feedRevisions = pgSequence("feed_revisions");

export const notificationDeliveries = pgTable(
  "notification_deliveries",
  {
    /** Also the webhook-id and the Message-ID: the same in every attempt. */
    id: text().primaryKey(),
    /** null: the platform's own word about a channel. */
    alertId: text(),
    organizationId: text().notNull(),
    userId: text().notNull(),
    channelId: text()
      .notNull()
      .references(() => notificationChannels.id),
    channelKind: text().$type<ChannelKind>().notNull(),
    ...said(),
    status: text().$type<DeliveryStatus>().notNull(),
    attempts: integer().notNull().default(0),
    lastError: text(),
    /** How many equal alerts it stands for. */
    count: integer().notNull().default(1),
    revision: bigint({ mode: "number" }).notNull().default(sql`nextval('feed_revisions')`),
    createdAt: at().notNull(),
    sentAt: at(),
    seenAt: at(),
  },
  (table) => [
    uniqueIndex("notification_deliveries_once").on(table.alertId, table.channelId),
    index("notification_deliveries_log").on(table.userId, table.organizationId, table.id),
    index("notification_deliveries_feed")
      .on(table.userId, table.organizationId, table.id)
      .where(sql`channel_kind = 'in_app'`),
    index("notification_deliveries_unseen")
      .on(table.userId, table.organizationId)
      .where(sql`channel_kind = 'in_app' and seen_at is null`),
    index("notification_deliveries_changes")
      .on(table.userId, table.organizationId, table.revision)
      .where(sql`channel_kind = 'in_app'`),
    index("notification_deliveries_open")
      .on(table.channelId, table.id)
      .where(sql`status in ('queued', 'sending')`),
  ],
);

/** What the monitor knows of a server. */
export const serverHealth = pgTable("server_health", {
  serverId: text()
    .primaryKey()
    .references(() => servers.id),
  checkedAt: at().notNull(),
  /** Checks in a row without an answer. */
  misses: integer().notNull().default(0),
  unreachable: boolean().notNull().default(false),
  diskLow: boolean().notNull().default(false),
});
