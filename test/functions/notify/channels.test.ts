/** The routes of channels: transitions, secrets, tests (spec.md "Notifications"). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { notificationChannels } from "../../../shared/db/notification-tables.ts";
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
