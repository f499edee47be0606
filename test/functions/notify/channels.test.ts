/** The routes of channels: transitions, secrets, and everything that is refused (spec.md "Notifications", "Errors"). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { notificationChannels } from "../../../shared/db/notification-tables.ts";
import { auditEntries } from "../../../shared/db/schema.ts";
import { addChannel, type NotifyPlatform, openNotifyPlatform, type Person } from "./notify-platform.ts";
import { openReceiver, status } from "./receiver.ts";

let platform: NotifyPlatform;
let ada: Person;
beforeAll(async () => {
  platform = await openNotifyPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  ada = await platform.organization();
});

const slackUrl = "https://hooks.slack.com/services/T000/B000/abcdefgh1234";
const configs = {
  email: { address: "Ada.L@Example.com" },
  webhook: { url: "https://example.com/hook" },
  slack: { webhookUrl: slackUrl },
  in_app: {},
} as const;

const create = (kind: string, config: unknown, more: Record<string, unknown> = {}) =>
  ada.call("POST", "/channels", { kind, label: "mine", config, ...more });

describe("a new channel", () => {
  it.each([
    ["in_app", true],
    ["email", false],
    ["webhook", false],
    ["slack", false],
  ] as const)("of kind %s is enabled, and verified: %s", async (kind, verified) => {
    const { status: code, body } = await create(kind, configs[kind], { verified: true });
    expect([code, body.data]).toMatchObject([201, { kind, label: "mine", enabled: true, verified }]);
    const listed = (await ada.call("GET", "/channels")).body.data;
    expect(listed.map((one: { id: string }) => one.id)).toContain(body.data.id);
  });

  it("shows no secret again: the key that was made once, a given one and a hook URL never", async () => {
    const made = (await create("webhook", configs.webhook)).body.data;
    expect(made.signingKey).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made.config.signingKey).toEqual({ set: true, last4: made.signingKey.slice(-4) });
    const signingKey = "a key that somebody chose";
    const given = (await create("webhook", { ...configs.webhook, signingKey })).body.data;
    const slack = (await create("slack", configs.slack)).body.data;
    expect(slack.config).toEqual({ webhookUrl: { set: true, last4: "1234" } });
    const all = JSON.stringify([given, slack, (await ada.call("GET", "/channels")).body]);
    for (const secret of [made.signingKey, signingKey, slackUrl]) expect(all).not.toContain(secret);
    const rows = await platform.db.select().from(notificationChannels);
    for (const secret of [made.signingKey, signingKey, slackUrl])
      expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it("warns of an address that is not public, and keeps it", async () => {
    for (const url of [
      "http://127.0.0.1/x",
      "http://[::1]:8080/",
      "http://0x7f.1/",
      "http://169.254.169.254/",
    ]) {
      const { status: code, body } = await create("webhook", { url });
      expect([code, body.data.warnings]).toEqual([201, [expect.stringContaining("not a public address")]]);
    }
    expect((await create("webhook", configs.webhook)).body.data.warnings).toBeUndefined();
  });
});

describe("is refused with 400 and the name of the field:", () => {
  const email = (address: unknown) => ["email", { address }, "body.config.address"] as const;
  const webhook = (url: unknown) => ["webhook", { url }, "body.config.url"] as const;
  const slack = (webhookUrl: unknown) => ["slack", { webhookUrl }, "body.config.webhookUrl"] as const;
  const refused: (readonly [unknown, unknown, string])[] = [
    ["pigeon", {}, "body.kind"],
    [undefined, {}, "body.kind"],
    ...["", "ada", "ada@", "@example.com", "a b@example.com", "a@b@c.com", "a@example..com", "a@-x.com"].map(
      email,
    ),
    ...[
      "ada@example.com\r\nBcc: eve@example.com",
      "Ada <ada@example.com>",
      "a@x.com,b@x.com",
      'a"b@x.com',
    ].map(email),
    ...[undefined, null, 7, ["ada@example.com"], `${"a".repeat(65)}@x.com`, `a@${"b".repeat(260)}.com`].map(
      email,
    ),
    ...[
      "",
      "example.com",
      "ftp://example.com",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "http://",
      7,
    ].map(webhook),
    ...["https://u:p@example.com/", "https://exa\nmple.com/", "https://example.com/\r\nX: y", undefined].map(
      webhook,
    ),
    ["webhook", { url: "https://x.com", signingKey: "" }, "body.config.signingKey"],
    ["webhook", { url: "https://x.com", signingKey: "a".repeat(257) }, "body.config.signingKey"],
    ["webhook", { url: "https://x.com", signingKey: "whsec_not base64" }, "body.config.signingKey"],
    ["webhook", { url: "https://x.com", signingKey: 7 }, "body.config.signingKey"],
    ["webhook", { url: "https://x.com", signingKey: "sealed:v1:notify:k:AAAA" }, "body.config.signingKey"],
    ["webhook", { url: "https://x.com", headers: {} }, "body.config.headers"],
    ...[
      "http://hooks.slack.com/services/x",
      "https://hooks.slack.com.evil.test/x",
      "https://slack.com/x",
    ].map(slack),
    ...[
      "https://hooks.slack.com:8443/x",
      "https://evil.test/?hooks.slack.com",
      "https://u@hooks.slack.com/x",
    ].map(slack),
    ...["https://hooks.slack.com/", undefined, 7].map(slack),
    ["in_app", { address: "a@x.com" }, "body.config.address"],
    ["in_app", 7, "body.config"],
  ];
  it.each(refused)("%s %j", async (kind, config, path) => {
    const { status: code, body } = await ada.call("POST", "/channels", { kind, label: "mine", config });
    expect([code, body.details?.[0]?.path]).toEqual([400, path]);
  });

  it.each([undefined, "", "   ", "a".repeat(101), "two\nlines", "a\u0000b", "x\r\nBcc: eve@x.com", 7])(
    "the label %j",
    async (label) => {
      const { status: code, body } = await ada.call("POST", "/channels", { kind: "in_app", label });
      expect([code, body.details?.[0]?.path]).toEqual([400, "body.label"]);
    },
  );

  it.each([
    [{ channelId: "x", enabled: true }, "body.category"],
    [{ category: "deploy.exploded", channelId: "x", enabled: true }, "body.category"],
    [{ category: "deploy.failed", enabled: true }, "body.channelId"],
    [{ category: "deploy.failed", channelId: "x" }, "body.enabled"],
    [{ category: "deploy.failed", channelId: "x", enabled: "yes" }, "body.enabled"],
  ])("the subscription %j", async (body, path) => {
    const answer = await ada.call("PUT", "/subscriptions", body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
  });

  it.each([
    [{ defaultEnabled: true }, "body.category"],
    [{ category: "nothing", defaultEnabled: true }, "body.category"],
    [{ category: "deploy.failed" }, "body.defaultEnabled"],
    [{ category: "deploy.failed", defaultEnabled: 1 }, "body.defaultEnabled"],
  ])("the default %j", async (body, path) => {
    const answer = await ada.call("PUT", "/defaults", body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
  });

  it.each(["limit=0", "limit=501", "limit=x", "unseen=maybe", "channel=mine"])(
    "the query %s",
    async (query) => {
      const answer = await ada.call("GET", `/deliveries?${query}`);
      expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, `query.${query.split("=")[0]}`]);
    },
  );
});

describe("changing a channel", () => {
  it("takes verified back with a new config, whatever else is asked for; other changes do not", async () => {
    const id = await addChannel(ada, "email", configs.email);
    const patch = async (body: unknown) => (await ada.call("PATCH", `/channels/${id}`, body)).body.data;
    expect(await patch({ label: "other" })).toMatchObject({ label: "other", verified: true });
    expect(await patch({ config: { address: "Ada.L@example.COM" } })).toMatchObject({ verified: true });
    expect(await patch({ config: { address: "new@example.com" }, verified: true })).toMatchObject({
      config: { address: "new@example.com" },
      verified: false,
    });
    expect(await patch({ verified: true })).toMatchObject({ verified: true });
    expect(await patch({ verified: false })).toMatchObject({ verified: false });
  });

  it("keeps a secret that is left out or sent back as it was shown", async () => {
    const id = await addChannel(ada, "webhook", { ...configs.webhook, signingKey: "a chosen signing key" });
    const sealed = async () =>
      (await platform.db.select().from(notificationChannels).where(eq(notificationChannels.id, id)))[0];
    const before = await sealed();
    const patch = async (config: unknown) =>
      (await ada.call("PATCH", `/channels/${id}`, { config })).body.data;
    for (const config of [
      {},
      configs.webhook,
      { ...configs.webhook, signingKey: { set: true, last4: " key" } },
    ]) {
      expect(await patch(config)).toMatchObject({ verified: true });
      expect((await sealed())?.sealedSecret).toBe(before?.sealedSecret);
    }
    expect(await patch({ signingKey: "a chosen signing key" })).toMatchObject({ verified: true });
    expect(await patch({ signingKey: "another signing key" })).toMatchObject({ verified: false });
    const slack = await addChannel(ada, "slack", configs.slack);
    const kept = await ada.call("PATCH", `/channels/${slack}`, { config: {} });
    expect(kept.body.data).toMatchObject({ verified: true, config: { webhookUrl: { set: true } } });
  });

  it("never changes the kind, and never un-verifies an in-app channel", async () => {
    const id = await addChannel(ada, "in_app", {});
    const other = await ada.call("PATCH", `/channels/${id}`, { kind: "email" });
    expect([other.status, other.body.details[0].path]).toEqual([400, "body.kind"]);
    expect((await ada.call("PATCH", `/channels/${id}`, { kind: "in_app" })).status).toBe(200);
    const unverified = await ada.call("PATCH", `/channels/${id}`, { verified: false });
    expect([unverified.status, unverified.body.details[0].path]).toEqual([400, "body.verified"]);
  });

  it("is audited by the names of the fields", async () => {
    const id = await addChannel(ada, "email", configs.email);
    await ada.call("DELETE", `/channels/${id}`);
    const entries = await platform.db.select().from(auditEntries).where(eq(auditEntries.resourceId, id));
    expect(entries.map(({ action, fields }) => [action, fields])).toEqual([
      ["notification_channel.created", []],
      ["notification_channel.updated", ["verified"]],
      ["notification_channel.deleted", []],
    ]);
  });
});

describe("what belongs to somebody else", () => {
  it("is 404, as what is deleted, also for another member of the organization", async () => {
    const ben = await platform.member(ada, "owner");
    const id = await addChannel(ada, "email", configs.email);
    const [subscription] = (await ada.call("GET", "/subscriptions")).body.data;
    await platform.raise(ada);
    await platform.pass();
    const [delivery] = (await ada.call("GET", "/deliveries")).body.data;
    const put = { category: "deploy.failed", channelId: id, enabled: true };
    const all = async (person: Person) =>
      (
        await Promise.all([
          person.call("PATCH", `/channels/${id}`, { label: "x" }),
          person.call("DELETE", `/channels/${id}`),
          person.call("POST", `/channels/${id}/test`),
          person.call("PUT", "/subscriptions", put),
          person.call("DELETE", `/subscriptions/${subscription.id}`),
          person.call("POST", `/deliveries/${delivery.id}/seen`),
        ])
      ).map((answer) => answer.status);
    expect(await all(ben)).toEqual([404, 404, 404, 404, 404, 404]);
    await ada.call("DELETE", `/channels/${id}`);
    const gone = await Promise.all([
      ada.call("PATCH", `/channels/${id}`, { label: "x" }),
      ada.call("DELETE", `/channels/${id}`),
      ada.call("POST", `/channels/${id}/test`),
      ada.call("PUT", "/subscriptions", put),
    ]);
    expect(gone.map((answer) => answer.status)).toEqual([404, 404, 404, 404]);
  });

  it("cannot be reached through a wide channel by a narrowed token", async () => {
    const id = await addChannel(ada, "webhook", configs.webhook);
    const narrowed = await platform.callerFor(ada, { projectIds: ["prj_1"] });
    for (const [method, path, body] of [
      ["PATCH", `/channels/${id}`, { config: { url: "https://evil.test/" } }],
      ["PATCH", `/channels/${id}`, { verified: true }],
      ["POST", `/channels/${id}/test`, undefined],
      ["PUT", "/subscriptions", { category: "deploy.failed", channelId: id, enabled: true }],
      ["PUT", "/defaults", { category: "deploy.failed", defaultEnabled: true }],
    ] as const) {
      const answer = await narrowed(method, path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, "narrowed_token"]);
    }
    expect((await narrowed("PATCH", `/channels/${id}`, { label: "fine" })).status).toBe(200);
  });
});

describe("subscriptions and defaults", () => {
  it("one row a category is seeded from the defaults of the moment in which a membership begins", async () => {
    await ada.call("PUT", "/defaults", { category: "deploy.failed", defaultEnabled: false });
    const ben = await platform.member(ada);
    await ada.call("PUT", "/defaults", { category: "deploy.failed", defaultEnabled: true });
    const rows = (await ben.call("GET", "/subscriptions")).body.data;
    const { data: categories } = (await ben.call("GET", "/categories")).body;
    expect(rows).toHaveLength(categories.length);
    const enabled = (category: string) =>
      rows.find((row: { category: string }) => row.category === category).enabled;
    expect([enabled("deploy.failed"), enabled("deploy.succeeded"), enabled("server.unreachable")]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("a second put changes the row, a delete lets the defaults decide again", async () => {
    const id = await addChannel(ada, "webhook", configs.webhook);
    const put = async (enabled: boolean) =>
      (await ada.call("PUT", "/subscriptions", { category: "deploy.failed", channelId: id, enabled })).body
        .data;
    const first = await put(false);
    const second = await put(true);
    expect([second.id, second.enabled]).toEqual([first.id, true]);
    const effective = async () =>
      (await ada.call("GET", "/subscriptions?effective=1")).body.data.find(
        (one: { channelId: string; category: string }) =>
          one.channelId === id && one.category === "deploy.failed",
      );
    expect(await effective()).toMatchObject({ enabled: true, source: "subscription", id: first.id });
    expect((await ada.call("DELETE", `/subscriptions/${first.id}`)).body).toEqual({ success: true });
    expect(await effective()).toEqual({
      ...{ category: "deploy.failed", channelId: id, enabled: true, source: "registry" },
    });
    await ada.call("PUT", "/defaults", { category: "deploy.failed", defaultEnabled: false });
    expect(await effective()).toMatchObject({ enabled: false, source: "organization" });
  });

  it("defaults list every category, and only notifications:admin writes them", async () => {
    const { data } = (await ada.call("GET", "/defaults")).body;
    const { data: categories } = (await ada.call("GET", "/categories")).body;
    expect(data.map((one: { category: string }) => one.category)).toEqual(
      categories.map((one: { id: string }) => one.id),
    );
    const ben = await platform.member(ada, "maintainer");
    expect((await ben.call("GET", "/defaults")).status).toBe(200);
    const refused = await ben.call("PUT", "/defaults", { category: "deploy.failed", defaultEnabled: false });
    expect(refused.status).toBe(403);
    const limited = await platform.callerFor(ada, { permissions: ["project:read"] });
    const byToken = await limited("PUT", "/defaults", { category: "deploy.failed", defaultEnabled: false });
    expect(byToken.status).toBe(403);
  });
});

describe("the feed", () => {
  it("counts what is unseen, filters it, and keeps the first time that it was seen", async () => {
    for (const title of ["one", "two", "three"]) await platform.raise(ada, { title });
    await platform.pass();
    const titles = async (query = "") =>
      (await ada.call("GET", `/deliveries${query}`)).body.data.map((one: { title: string }) => one.title);
    const count = async () => (await ada.call("GET", "/deliveries/unseen-count")).body;
    expect([await titles(), await count()]).toEqual([["three", "two", "one"], { data: { count: 3 } }]);
    const [newest] = (await ada.call("GET", "/deliveries")).body.data;
    const first = await ada.call("POST", `/deliveries/${newest.id}/seen`);
    const second = await ada.call("POST", `/deliveries/${newest.id}/seen`);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.data.seenAt).toBe(first.body.data.seenAt);
    expect([await titles("?unseen=true"), await count()]).toEqual([["two", "one"], { data: { count: 2 } }]);
    expect(await titles("?unseen=false&limit=1")).toEqual(["three"]);
    const page = (await ada.call("GET", "/deliveries?limit=2")).body;
    expect(await titles(`?limit=2&cursor=${page.nextCursor}`)).toEqual(["one"]);
  });

  it("shows a narrowed token what concerns its projects and servers", async () => {
    const narrowed = await platform.callerFor(ada, { projectIds: [] });
    await platform.raise(ada, { category: "member.added" });
    await platform.pass();
    expect((await narrowed("GET", "/deliveries")).body.data).toEqual([]);
    expect((await narrowed("GET", "/deliveries/unseen-count")).body.data).toEqual({ count: 0 });
    expect((await ada.call("GET", "/deliveries")).body.data).toHaveLength(1);
  });
});

describe("a test of a channel", () => {
  it("sends for real, says what the far side said, and verifies with a 2xx", async () => {
    const receiver = await openReceiver(status(500));
    const { id } = (await create("webhook", { url: receiver.url })).body.data;
    const test = async () => (await ada.call("POST", `/channels/${id}/test`)).body.data;
    expect(await test()).toEqual({
      ...{ ok: false, code: "receiver_failed", error: "The receiver answered 500." },
      ...{ status: 500, response: "status 500", verified: false },
    });
    receiver.react(status(204));
    expect(await test()).toMatchObject({ ok: true, status: 204, verified: true });
    expect(receiver.received.at(-1)?.json.type).toBe("channel.test");
    await receiver.close();
  });

  it("of another place than the present one verifies nothing", async () => {
    const receiver = await openReceiver();
    const { id } = (await create("webhook", { url: receiver.url })).body.data;
    receiver.react((response) => {
      void ada
        .call("PATCH", `/channels/${id}`, { config: { url: "https://example.com/moved" } })
        .then(() => response.end());
    });
    const { body } = await ada.call("POST", `/channels/${id}/test`);
    expect(body.data).toMatchObject({ ok: true, verified: false });
    await receiver.close();
  });

  it("of e-mail without a mail server says so, of in-app lies in the feed", async () => {
    const { id } = (await create("email", configs.email)).body.data;
    const { status: code, body } = await ada.call("POST", `/channels/${id}/test`);
    expect([code, body.data]).toMatchObject([
      200,
      { ok: false, code: "smtp_not_configured", verified: false },
    ]);
    const inApp = (await create("in_app", {})).body.data;
    expect((await ada.call("POST", `/channels/${inApp.id}/test`)).body.data.ok).toBe(true);
    expect((await ada.call("GET", "/deliveries")).body.data[0]).toMatchObject({ category: "channel.test" });
  });

  it("is 429 beyond ten a minute, so that nobody sends mail to strangers with it", async () => {
    const { id } = (await create("in_app", {})).body.data;
    const codes: number[] = [];
    for (let count = 0; count < 11; count++)
      codes.push((await ada.call("POST", `/channels/${id}/test`)).status);
    expect(codes).toEqual([...Array(10).fill(200), 429]);
  });
});
