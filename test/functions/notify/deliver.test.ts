/** From an alert to its receivers: who gets it, and how often. Receivers are real, time is the test's. */
import { eq } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { alerts, notificationDeliveries } from "../../../shared/db/notification-tables.ts";
import { raiseAlert } from "../../../shared/db/raise-alert.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { addChannel, type NotifyPlatform, openNotifyPlatform, type Person } from "./notify-platform.ts";
import { openReceiver, status } from "./receiver.ts";

let platform: NotifyPlatform;
let ada: Person;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
beforeAll(async () => {
  platform = await openNotifyPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  ada = await platform.organization();
  receiver = await openReceiver();
});
afterEach(() => receiver.close());

const log = async (person = ada) => (await person.call("GET", "/deliveries?channel=all")).body.data;
const sendingLog = async (kind: string) =>
  (await log()).filter((one: { channelKind: string }) => one.channelKind === kind);
const feed = async (person = ada) => (await person.call("GET", "/deliveries")).body.data;
const hook = () => addChannel(ada, "webhook", { url: receiver.url });

describe("a webhook", () => {
  it("is signed so that the library of Standard Webhooks verifies it, with a key that was made", async () => {
    const made = await ada.call("POST", "/channels", {
      ...{ kind: "webhook", label: "ops", config: { url: receiver.url } },
    });
    const { id, signingKey } = made.body.data;
    await ada.call("PATCH", `/channels/${id}`, { verified: true });
    await platform.raise(ada, {
      resource: { type: "deployment", id: "dep_1" },
      link: "/api/deployments/dep_1",
    });
    await platform.pass();
    const [one] = receiver.received;
    const verified = new Webhook(signingKey).verify(one?.text ?? "", one?.headers ?? {});
    const [sent] = await sendingLog("webhook");
    expect(sent).toMatchObject({ status: "sent", attempts: 1, lastError: null, count: 1 });
    expect(verified).toMatchObject({
      type: "deploy.failed",
      data: {
        id: sent.id,
        organizationId: ada.organizationId,
        title: "Deploying shop failed",
        severity: "error",
        link: "https://slipway.example.com/api/deployments/dep_1",
        resource: { type: "deployment", id: "dep_1" },
      },
    });
    expect(one?.headers["webhook-id"]).toBe(sent.id);
  });

  it.each(["grüße, a key of people", "x", `whsec_${Buffer.from("0123456789abcdef").toString("base64")}`])(
    "is signed with a key that was given: %s",
    async (signingKey) => {
      await addChannel(ada, "webhook", { url: receiver.url, signingKey });
      await platform.raise(ada);
      await platform.pass();
      const [one] = receiver.received;
      const library = signingKey.startsWith("whsec_")
        ? new Webhook(signingKey)
        : new Webhook(new TextEncoder().encode(signingKey), { format: "raw" });
      expect(library.verify(one?.text ?? "", one?.headers ?? {})).toMatchObject({ type: "deploy.failed" });
    },
  );
});

describe("an alert", () => {
  it("goes to nobody when what raised it is rolled back", async () => {
    await hook();
    const failing = platform.db.transaction(async (tx) => {
      await raiseAlert(tx, {
        ...{ organizationId: ada.organizationId, category: "deploy.failed", title: "t", message: "m" },
        resource: { type: "deployment", id: "dep_1" },
      });
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    await platform.pass();
    expect([receiver.received, await feed()]).toEqual([[], []]);
  });

  it("reaches only members of its organization, once a feed", async () => {
    const ben = await platform.member(ada, "viewer");
    const eve = await platform.organization();
    await ada.call("POST", "/channels", { kind: "in_app", label: "second" });
    await platform.raise(ada);
    await platform.pass();
    const counts = await Promise.all([ada, ben, eve].map(async (one) => (await feed(one)).length));
    expect(counts).toEqual([1, 1, 0]);
  });

  it("about a token reaches its maker and those who may see all tokens", async () => {
    const admin = await platform.member(ada, "admin");
    const maker = await platform.member(ada, "member");
    const other = await platform.member(ada, "member");
    await platform.raise(ada, { category: "token.created", userId: maker.userId });
    await platform.pass();
    const counts = await Promise.all([ada, admin, maker, other].map(async (one) => (await feed(one)).length));
    expect(counts).toEqual([1, 1, 1, 0]);
  });

  it("goes where a subscription says, else the organization's default, else the registry", async () => {
    const id = await hook();
    const succeed = async () => {
      await platform.raise(ada, { category: "deploy.succeeded" });
      await platform.pass();
      return receiver.received.length;
    };
    expect(await succeed()).toBe(0);
    await ada.call("PUT", "/defaults", { category: "deploy.succeeded", defaultEnabled: true });
    expect(await succeed()).toBe(1);
    await ada.call("PUT", "/subscriptions", { category: "deploy.succeeded", channelId: id, enabled: false });
    expect(await succeed()).toBe(1);
    // The in-app rows were seeded when the membership began: a later default does not touch them.
    expect(await feed()).toEqual([]);
  });

  it("leaves a suppressed row at a channel that is subscribed but not verified or disabled, else nothing", async () => {
    const made = await ada.call("POST", "/channels", {
      ...{ kind: "webhook", label: "w", config: { url: receiver.url } },
    });
    const { id } = made.body.data;
    await platform.raise(ada);
    await platform.pass();
    expect(await sendingLog("webhook")).toEqual([]);
    await ada.call("PUT", "/subscriptions", { category: "deploy.failed", channelId: id, enabled: true });
    await platform.raise(ada);
    await platform.pass();
    await ada.call("PATCH", `/channels/${id}`, { verified: true, enabled: false });
    await platform.raise(ada);
    await platform.pass();
    const found = (await sendingLog("webhook")).map((one: { status: string; lastError: string }) => [
      one.status,
      one.lastError,
    ]);
    expect(found).toEqual([
      ["suppressed", "The channel is disabled."],
      ["suppressed", "The channel is not verified."],
    ]);
    expect(receiver.received).toEqual([]);
  });

  it("tells a channel of a narrowed token no more than that token sees", async () => {
    const narrowed = { ...ada, call: await platform.callerFor(ada, { projectIds: ["prj_1"] }) };
    const made = await narrowed.call("POST", "/channels", {
      ...{ kind: "webhook", label: "w", config: { url: receiver.url } },
    });
    await narrowed.call("PATCH", `/channels/${made.body.data.id}`, { verified: true });
    await platform.raise(ada, { title: "mine", projectId: "prj_1" });
    await platform.raise(ada, { title: "other", projectId: "prj_2" });
    await platform.raise(ada, { title: "all", category: "member.added" });
    await platform.pass();
    expect(receiver.titles()).toEqual(["mine"]);
  });
});

describe("equal alerts", () => {
  const resource = { type: "server", id: "srv_1" };
  const same = (title: string) => platform.raise(ada, { category: "server.unreachable", resource, title });

  it("within ten minutes are one delivery while it waits or is unseen, with the newest words", async () => {
    await hook();
    await same("first");
    await same("second");
    await platform.raise(ada, { category: "server.unreachable", resource: { ...resource, id: "srv_2" } });
    receiver.react(status(503));
    await platform.pass();
    expect((await feed()).map((one: { title: string; count: number }) => [one.title, one.count])).toEqual([
      ["Deploying shop failed", 1],
      ["second", 2],
    ]);
    receiver.react(status(200));
    await platform.clock.advance(10_000);
    await platform.pass();
    expect(receiver.received.at(-2)?.json.data).toMatchObject({ title: "second", count: 2 });
  });

  it("are told again once the first was seen or sent, or is older than ten minutes", async () => {
    await hook();
    await same("first");
    await platform.pass();
    const [first] = await feed();
    await ada.call("POST", `/deliveries/${first.id}/seen`);
    await same("second");
    await platform.pass();
    expect(await feed()).toHaveLength(2);
    await platform.db
      .update(notificationDeliveries)
      .set({ createdAt: new Date(Date.now() - limits.collapseMs - 1_000) })
      .where(eq(notificationDeliveries.userId, ada.userId));
    await same("third");
    await platform.pass();
    expect([(await feed()).length, receiver.titles()]).toEqual([3, ["first", "second", "third"]]);
  });
});

it("two runners on one database tell each alert once", async () => {
  await hook();
  for (let index = 0; index < 20; index++) await platform.raise(ada, { title: `alert ${index}` });
  await Promise.all([platform.pass(), platform.pass(), platform.pass()]);
  await platform.pass();
  expect(receiver.titles()).toEqual(Array.from({ length: 20 }, (_, index) => `alert ${index}`));
  const waiting = await platform.db
    .select()
    .from(alerts)
    .where(eq(alerts.organizationId, ada.organizationId));
  expect(waiting.every(({ toldAt }) => toldAt !== null)).toBe(true);
});
