/** What receivers do to deliveries: order, retries, dead channels. Receivers are real, time is the test's. */
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { memberships } from "../../../shared/db/identity-tables.ts";
import { notificationChannels, notificationDeliveries } from "../../../shared/db/notification-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Outgoing } from "../../../shared/ports/outgoing.ts";
import { loopbackOutgoing, testOutgoing } from "../../outgoing.ts";
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
const sendingLog = async (kind: string, person = ada) =>
  (await log(person)).filter((one: { channelKind: string }) => one.channelKind === kind);
const feed = async (person = ada) => (await person.call("GET", "/deliveries")).body.data;
const hook = () => addChannel(ada, "webhook", { url: receiver.url });

describe("a receiver that is down", () => {
  it("for ten minutes gets each alert once and in order after it has come back", async () => {
    await hook();
    receiver.react(status(503));
    for (let minute = 0; minute < 10; minute++) {
      await platform.raise(ada, { title: `alert ${minute}` });
      await platform.pass();
      await platform.clock.advance(60_000);
    }
    const tried = new Set(receiver.titles());
    expect([...tried]).toEqual(["alert 0"]);
    const before = receiver.received.length;
    expect(before).toBeGreaterThan(3);
    receiver.react(status(200));
    for (let minute = 0; minute < 15; minute++) {
      await platform.clock.advance(60_000);
      await platform.pass();
    }
    const after = receiver.received.slice(before).map(({ json }) => json.data.title);
    expect(after).toEqual(Array.from({ length: 10 }, (_, index) => `alert ${index}`));
    expect(new Set(receiver.ids()).size).toBe(10);
    const statuses = (await sendingLog("webhook")).map((one: { status: string }) => one.status);
    expect(new Set(statuses)).toEqual(new Set(["sent"]));
  });

  it("rests as long as it asks for", async () => {
    await hook();
    receiver.react(status(429, { "retry-after": "120" }));
    await platform.raise(ada);
    await platform.pass();
    receiver.react(status(200));
    await platform.clock.advance(110_000);
    await platform.pass();
    expect(receiver.received).toHaveLength(1);
    await platform.clock.advance(11_000);
    await platform.pass();
    expect(receiver.received).toHaveLength(2);
  });

  it("for 24 hours has its channel disabled, with a notice in the feed and nothing left waiting", async () => {
    const id = await hook();
    receiver.react(status(500));
    await platform.raise(ada, { title: "first" });
    await platform.raise(ada, { title: "second" });
    await platform.pass();
    for (let hour = 0; hour < 26; hour++) {
      await platform.clock.advance(3_600_000);
      await platform.pass();
    }
    const [channel] = (await ada.call("GET", "/channels")).body.data.filter(
      (one: { id: string }) => one.id === id,
    );
    expect(channel).toMatchObject({ enabled: false, lastError: "The receiver answered 500." });
    const [notice] = await feed();
    expect(notice).toMatchObject({ category: "channel.disabled", resource: { type: "channel", id } });
    expect(notice.message).toContain("The receiver answered 500.");
    expect((await sendingLog("webhook")).map((one: { status: string }) => one.status)).toEqual([
      "suppressed",
      "failed",
    ]);
    receiver.react(status(200));
    await ada.call("PATCH", `/channels/${id}`, { enabled: true });
    await platform.raise(ada, { title: "third" });
    await platform.pass();
    expect(receiver.titles().at(-1)).toBe("third");
  });
});

describe("what a receiver answers", () => {
  it("410 disables the channel at once", async () => {
    const id = await hook();
    receiver.react(status(410));
    await platform.raise(ada);
    await platform.pass();
    const { body } = await ada.call("GET", "/channels");
    expect(body.data.find((one: { id: string }) => one.id === id)).toMatchObject({ enabled: false });
    expect((await feed())[0]).toMatchObject({ category: "channel.disabled" });
  });

  it.each([400, 401, 404, 302])("%i fails this delivery alone", async (code) => {
    await hook();
    receiver.react(status(code, { location: "http://127.0.0.1:1/" }));
    await platform.raise(ada, { title: "first" });
    await platform.pass();
    receiver.react(status(200));
    await platform.raise(ada, { title: "second" });
    await platform.pass();
    expect(receiver.titles()).toEqual(["first", "second"]);
    const found = (await sendingLog("webhook")).map((one: { status: string }) => one.status);
    expect(found).toEqual(["sent", "failed"]);
  });

  it.each([408, 429, 500, 503])("%i is tried again", async (code) => {
    await hook();
    receiver.react(status(code));
    await platform.raise(ada);
    await platform.pass();
    expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "queued", attempts: 1 });
    receiver.react(status(200));
    await platform.clock.advance(10_000);
    await platform.pass();
    expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "sent", attempts: 2 });
  });

  it("of 100 MB is cut off, and its status counts", async () => {
    await hook();
    let cut = false;
    receiver.react((response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1_048_576);
      let left = 100;
      const more = () => {
        while (left-- > 0) if (!response.write(chunk)) return;
        response.end();
      };
      response.on("drain", more);
      response.on("close", () => {
        cut = left > 0;
      });
      more();
    });
    await platform.raise(ada);
    await platform.pass();
    expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "sent" });
    await expect.poll(() => cut).toBe(true);
  });

  it("nothing at all holds up its own channel and nobody else's", async () => {
    const outgoing = loopbackOutgoing();
    const deadlines: number[] = [];
    const impatient: Outgoing = {
      send: (request) => {
        deadlines.push(request.deadlineMs);
        const deadlineMs = request.url === receiver.url ? 500 : request.deadlineMs;
        return outgoing.send({ ...request, deadlineMs });
      },
    };
    const silent = await openNotifyPlatform({ outgoing: impatient });
    const bea = await silent.organization();
    await addChannel(bea, "webhook", { url: receiver.url });
    receiver.react(() => undefined);
    const quick = await openReceiver();
    await addChannel(bea, "webhook", { url: quick.url });
    await silent.raise(bea, { title: "first" });
    const passing = silent.pass();
    await expect.poll(() => quick.titles(), { timeout: 8_000 }).toEqual(["first"]);
    await passing;
    const statuses = (await sendingLog("webhook", bea)).map((one: { status: string }) => one.status).sort();
    expect(statuses).toEqual(["queued", "sent"]);
    expect(deadlines).toEqual([limits.sendMs, limits.sendMs]);
    await quick.close();
    await silent.close();
  });
});

it("a process that is lost between sending and writing sends once more, under the same id", async () => {
  const id = await hook();
  await platform.raise(ada);
  // What a kill leaves behind: sent, but the lease is taken and nothing was written.
  receiver.react((response) => {
    void platform.db
      .update(notificationChannels)
      .set({ leaseToken: 999_999_999 })
      .where(eq(notificationChannels.id, id))
      .then(() => response.end());
  });
  await platform.pass();
  expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "sending", attempts: 1 });
  receiver.react(status(200));
  await platform.clock.advance(limits.channelLeaseMs - 1_000);
  await platform.pass();
  expect(receiver.received).toHaveLength(1);
  await platform.clock.advance(2_000);
  await platform.pass();
  await platform.clock.advance(2 * limits.channelLeaseMs);
  await platform.pass();
  const [first, second, ...more] = receiver.ids();
  expect([second, more]).toEqual([first, []]);
  expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "sent", attempts: 2 });
});

it("an address inside is a failed delivery that names it, and a failed test, while others go on", async () => {
  const strict = await openNotifyPlatform({ outgoing: testOutgoing({ guarded: true }) });
  const eve = await strict.organization();
  for (const url of [receiver.url, "http://localhost:1/", "http://[::ffff:10.0.0.1]/"]) {
    const id = await addChannel(eve, "webhook", { url });
    const { body } = await eve.call("POST", `/channels/${id}/test`);
    expect(body.data).toMatchObject({ ok: false, code: "refused_target", status: null, response: null });
  }
  await strict.raise(eve);
  await strict.pass();
  const sent = (await eve.call("GET", "/deliveries?channel=all")).body.data;
  const failed = sent.filter((one: { channelKind: string }) => one.channelKind === "webhook");
  expect(failed.map((one: { status: string; attempts: number }) => [one.status, one.attempts])).toEqual(
    Array(3).fill(["failed", 1]),
  );
  const reasons = failed.map((one: { lastError: string }) => one.lastError).join();
  for (const address of ["127.0.0.1", "localhost leads to", "::ffff:a00:1"])
    expect(reasons).toContain(address);
  expect(receiver.received).toEqual([]);
  await strict.close();
});

it("what waits for a person who is removed meanwhile is never told, also when it was on its way", async () => {
  const ben = await platform.member(ada);
  await addChannel(ben, "webhook", { url: receiver.url });
  receiver.react(status(503));
  await platform.raise(ada);
  await platform.pass();
  expect(receiver.received).toHaveLength(1);
  await platform.db.delete(memberships).where(eq(memberships.userId, ben.userId));
  receiver.react(status(200));
  await platform.clock.advance(60_000);
  await platform.pass();
  await platform.pass();
  expect(receiver.received).toHaveLength(1);
  const rows = await platform.db
    .select()
    .from(notificationDeliveries)
    .where(eq(notificationDeliveries.userId, ben.userId));
  expect(rows.map(({ channelKind, status: now }) => [channelKind, now]).sort()).toEqual([
    ["in_app", "sent"],
    ["webhook", "suppressed"],
  ]);
});

it("a channel that is deleted leaves nothing waiting", async () => {
  const id = await hook();
  receiver.react(status(503));
  await platform.raise(ada);
  await platform.pass();
  expect((await ada.call("DELETE", `/channels/${id}`)).body).toEqual({ success: true });
  expect((await sendingLog("webhook"))[0]).toMatchObject({ status: "suppressed" });
  expect(
    (await ada.call("GET", "/subscriptions")).body.data.every(
      (one: { channelId: string }) => one.channelId !== id,
    ),
  ).toBe(true);
});
