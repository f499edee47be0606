/** The feed as a stream, read over HTTP as a browser does. */

import { eq } from "drizzle-orm";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterAll, beforeAll, expect, it } from "vitest";
import { memberships } from "../../../shared/db/identity-tables.ts";
import { beginNotifications } from "../../../shared/db/notification-membership.ts";
import { raiseAlert } from "../../../shared/db/raise-alert.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { openWholeApi } from "../../contract/whole-api.ts";
import { seedOrganization } from "../../database.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import { manualClock } from "../../manual-clock.ts";

type Api = Awaited<ReturnType<typeof openWholeApi>>;

let api: Api;
beforeAll(async () => {
  api = await openWholeApi();
});
afterAll(() => api.close());

async function openReader(of: Api) {
  const who = await seedOrganization(of.db);
  await beginNotifications(of.db, who);
  const { token } = await seedToken(of.db, who);
  const raise = async (title: string) => {
    await raiseAlert(of.db, {
      ...{ organizationId: who.organizationId, category: "deploy.failed", title, message: "m" },
      resource: { type: "deployment", id: `dep_${title}` },
    });
    await of.notifications.pass();
  };
  const open = async (since = "") => {
    const answer = await of.send(`/api/notifications/deliveries/stream${since}`, { token });
    const events: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => events.push(event) });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    const reading = (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
        if (done) return;
        parser.feed(value ?? "");
      }
    })();
    const seen = () =>
      events.map(({ event, data }) => {
        const body = JSON.parse(data);
        return event === "delivery" ? `${body.title} ${body.seenAt === null ? "new" : "seen"}` : body.count;
      });
    return { answer, events, seen, reading, close: () => reader?.cancel() };
  };
  return { who, token, raise, open };
}

it("says how much is unseen at first, then what is new and what was seen, and resumes", async () => {
  const { raise, open, token } = await openReader(api);
  await raise("old");
  const stream = await open();
  expect(stream.answer.headers.get("content-type")).toContain("text/event-stream");
  await expect.poll(stream.seen).toEqual([1]);
  await raise("first");
  await expect.poll(stream.seen).toEqual([1, "first new", 2]);
  const { data } = (await (await api.send("/api/notifications/deliveries?limit=1", { token })).json()) as {
    data: { id: string }[];
  };
  await api.send(`/api/notifications/deliveries/${data[0]?.id}/seen`, { method: "POST", token });
  await expect.poll(stream.seen).toEqual([1, "first new", 2, "first seen", 1]);
  const last = stream.events.findLast(({ id }) => id !== undefined)?.id;
  await stream.close();
  await raise("while away");
  const resumed = await open(`?since=${last}`);
  await expect.poll(resumed.seen).toEqual(["while away new", 2]);
  await resumed.close();
}, 30_000);

it("ends for a person who was removed", async () => {
  const clock = manualClock();
  const timed = await openWholeApi({ clock });
  const { who, open } = await openReader(timed);
  const stream = await open();
  await expect.poll(stream.seen).toEqual([0]);
  await timed.db.delete(memberships).where(eq(memberships.userId, who.userId));
  await clock.advance(limits.streamRecheckMs);
  await stream.reading;
  await timed.close();
});
