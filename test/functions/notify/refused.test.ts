/** Everything that the routes of notifications refuse: the 400 and 404 rows of spec.md "Errors", and narrowed tokens. */
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
