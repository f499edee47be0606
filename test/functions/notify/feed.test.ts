/** Subscriptions, defaults and the feed as pages. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { addChannel, type NotifyPlatform, openNotifyPlatform, type Person } from "./notify-platform.ts";

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
