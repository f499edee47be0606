/** Notifications: channels of the caller, what goes to which of them, and the in-app feed. All of it belongs to a person. */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { categories, channelKinds, deliveryStatuses, severities } from "../domain/notification.ts";
import { cursor, deleted, id, idParameter, name, pageQuery, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const read = { module: "notify", permission: "notifications:read" } as const;
const write = { module: "notify", permission: "notifications:write" } as const;

const categoryId = z
  .enum(categories.map((each) => each.id))
  .openapi({ description: "GET /api/notifications/categories lists them." });

const category = z
  .object({ id: z.string(), label: z.string(), description: z.string(), defaultEnabled: z.boolean() })
  .openapi("NotificationCategory");

const secret = z.object({ set: z.literal(true), last4: z.string() });

export const channel = z
  .object({
    id,
    kind: z.enum(channelKinds),
    label: z.string(),
    config: z
      .object({
        address: z.string().optional(),
        url: z.string().optional(),
        signingKey: secret.optional(),
        webhookUrl: secret.optional(),
      })
      .openapi({
        description: "email: address. webhook: url, signingKey. slack: webhookUrl. in_app: empty.",
      }),
    enabled: z.boolean(),
    verified: z.boolean(),
    lastError: z.string().nullable().openapi({
      description: "Why the last delivery did not arrive, or why the platform disabled the channel.",
    }),
    retryAt: time
      .nullable()
      .openapi({ description: "The receiver fails; nothing is tried before this time." }),
    warnings: z.array(z.string()).optional(),
    createdAt: time,
  })
  .openapi("NotificationChannel");

const config = z.record(z.string().max(100), z.unknown()).openapi({
  description:
    "email { address } · webhook { url, signingKey? } · slack { webhookUrl } on hooks.slack.com · in_app { }. A signing key is made when none is given. In a PATCH what is left out stays.",
  example: { url: "https://example.com/hook" },
});

export const listCategories = route(read, {
  method: "get",
  path: "/api/notifications/categories",
  summary: "What people can be told",
  responses: { 200: json("Categories", page(category)) },
});

export const listChannels = route(read, {
  method: "get",
  path: "/api/notifications/channels",
  summary: "Channels of the caller",
  request: { query: pageQuery },
  responses: { 200: json("Channels", page(channel)) },
});

export const createChannel = route(write, {
  method: "post",
  path: "/api/notifications/channels",
  summary: "Add a channel; nothing is contacted yet",
  description:
    "It serves all organizations of the caller. An in-app channel is verified at once; any other delivers nothing until `POST /channels/{id}/test` has arrived, or a person says so by PATCH { verified: true }. A channel that a narrowed token makes tells no more than that token sees.",
  request: {
    body: body(
      z.strictObject({
        kind: z.enum(channelKinds),
        label: name,
        config: config.default({}),
        enabled: z.boolean().default(true),
        verified: z.unknown().optional().openapi({ description: "Ignored." }),
      }),
    ),
  },
  responses: {
    201: json(
      "The channel",
      data(
        channel.extend({
          signingKey: z
            .string()
            .optional()
            .openapi({ description: "The key that was made, in this answer only (Standard Webhooks form)." }),
        }),
      ),
    ),
  },
});

export const updateChannel = route(write, {
  method: "patch",
  path: "/api/notifications/channels/{id}",
  summary: "Change a channel; its kind stays",
  description:
    "A changed config takes `verified` back, whatever else the request says. `enabled: true` ends a back-off.",
  request: {
    params: idParameter,
    body: body(
      z.strictObject({
        kind: z.enum(channelKinds).optional(),
        label: name.optional(),
        config: config.optional(),
        enabled: z.boolean().optional(),
        verified: z.boolean().optional(),
      }),
    ),
  },
  responses: { 200: json("The channel", data(channel)) },
});

export const deleteChannel = route(write, {
  method: "delete",
  path: "/api/notifications/channels/{id}",
  summary: "Delete a channel with its subscriptions; what waits for it is suppressed",
  request: { params: idParameter },
  responses: { 200: json("Deleted", deleted) },
});

export const testChannel = route(write, {
  method: "post",
  path: "/api/notifications/channels/{id}/test",
  summary: "Send a test for real; a failure is the answer, not an error",
  description: "An answer of 2xx (for e-mail: the mail server took it) sets `verified`.",
  request: { params: idParameter },
  responses: {
    200: json(
      "What the far side said",
      data(
        z.object({
          ok: z.boolean(),
          code: z.string().optional(),
          error: z.string().optional(),
          status: z
            .number()
            .int()
            .nullable()
            .openapi({ description: "HTTP or SMTP status, where there is one" }),
          response: z.string().nullable().openapi({ description: "The beginning of what it said" }),
          verified: z.boolean(),
        }),
      ),
    ),
  },
});

const subscription = z
  .object({
    id: id.optional().openapi({ description: "Absent in the effective grid where no row decides." }),
    category: z.string(),
    channelId: id,
    enabled: z.boolean(),
    source: z.enum(["subscription", "organization", "registry"]).optional(),
    createdAt: time.optional(),
    updatedAt: time.optional(),
  })
  .openapi("NotificationSubscription");

export const listSubscriptions = route(read, {
  method: "get",
  path: "/api/notifications/subscriptions",
  summary: "Subscriptions of the caller in the active organization",
  description:
    "`effective=1`: every category on every channel with what decides it; `limit` and `cursor` then count channels.",
  request: { query: pageQuery.extend({ effective: z.enum(["1", "0", "true", "false"]).optional() }) },
  responses: { 200: json("Subscriptions", page(subscription)) },
});

export const putSubscription = route(write, {
  method: "put",
  path: "/api/notifications/subscriptions",
  summary: "Switch a category on or off for a channel, in the active organization",
  request: { body: body(z.strictObject({ category: categoryId, channelId: id, enabled: z.boolean() })) },
  responses: { 200: json("The subscription", data(subscription)) },
});

export const deleteSubscription = route(write, {
  method: "delete",
  path: "/api/notifications/subscriptions/{id}",
  summary: "Let the defaults decide again",
  request: { params: idParameter },
  responses: { 200: json("Deleted", deleted) },
});

const organizationDefault = z
  .object({
    category: z.string(),
    defaultEnabled: z.boolean(),
    source: z.enum(["organization", "registry"]),
  })
  .openapi("NotificationDefault");

export const listDefaults = route(read, {
  method: "get",
  path: "/api/notifications/defaults",
  summary: "The default of every category in the organization",
  responses: { 200: json("Defaults", page(organizationDefault)) },
});

export const putDefault = route(
  { module: "notify", permission: "notifications:admin" },
  {
    method: "put",
    path: "/api/notifications/defaults",
    summary: "Set the default of a category for the organization",
    description:
      "It seeds the in-app channel of members who join later, and decides where no subscription does.",
    request: { body: body(z.strictObject({ category: categoryId, defaultEnabled: z.boolean() })) },
    responses: { 200: json("The default", data(organizationDefault)) },
  },
);

const delivery = z
  .object({
    id,
    category: z.string(),
    title: z.string(),
    message: z.string(),
    severity: z.enum(severities),
    link: z.string().nullable().openapi({ description: "Where it can be seen" }),
    resource: z.object({ type: z.string(), id: z.string() }),
    channelId: id,
    channelKind: z.enum(channelKinds),
    status: z.enum(deliveryStatuses),
    attempts: z.number().int(),
    lastError: z.string().nullable(),
    count: z.number().int().openapi({ description: "How many equal alerts it stands for" }),
    createdAt: time,
    sentAt: time.nullable(),
    seenAt: time.nullable(),
  })
  .openapi("NotificationDelivery");

export const listDeliveries = route(read, {
  method: "get",
  path: "/api/notifications/deliveries",
  summary: "The in-app feed of the caller in the active organization",
  description: "`channel=all` is the log of what went to any channel.",
  request: {
    query: z.object({
      limit: z.coerce.number().int().min(1).max(limits.deliveriesMost).default(limits.pageDefault),
      cursor,
      unseen: z.enum(["true", "false", "1", "0"]).optional(),
      channel: z.enum(["in_app", "all"]).default("in_app"),
    }),
  },
  responses: { 200: json("Deliveries", page(delivery)) },
});

export const countUnseen = route(read, {
  method: "get",
  path: "/api/notifications/deliveries/unseen-count",
  summary: "How many alerts of the feed were not seen",
  responses: { 200: json("The count", data(z.object({ count: z.number().int() }))) },
});

export const markSeen = route(write, {
  method: "post",
  path: "/api/notifications/deliveries/{id}/seen",
  summary: "Mark an alert seen; again changes nothing",
  request: { params: idParameter },
  responses: { 200: json("The delivery", data(delivery)) },
});

export const streamDeliveries = route(
  { ...read, stream: true },
  {
    method: "get",
    path: "/api/notifications/deliveries/stream",
    summary: "Follow the feed",
    description:
      "Events: `unseen_count` { count }, at first and after every change; `delivery`, a new or changed delivery. `?since=` or `Last-Event-ID` sends what changed after that event.",
    request: { query: z.object({ since: z.coerce.number().int().min(0).optional() }) },
    responses: {
      200: { description: "The events", content: { "text/event-stream": { schema: z.string() } } },
    },
  },
);
