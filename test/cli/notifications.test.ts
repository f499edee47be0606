/** `slipway notifications` against a real edge and module, with a real receiver. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { openReceiver, status } from "../functions/notify/receiver.ts";
import { openInstance } from "./instance.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
let receiver: Awaited<ReturnType<typeof openReceiver>>;

const run = async (argv: string, stdin?: string) => {
  const words = ["notifications", ...argv.split(" "), "--json"];
  const ended = await instance.home.run(words, stdin === undefined ? {} : { stdin });
  const printed = ended.code === 0 ? ended.stdout : ended.stderr;
  return { code: ended.code, data: JSON.parse(printed) };
};

beforeAll(async () => {
  [instance, receiver] = await Promise.all([openInstance(), openReceiver(status(500))]);
  const made = await instance.home.run(
    ["init", "--org", "Acme", "--email", "ada@example.com", "--password-stdin", "--json"],
    { stdin: "correct horse battery\n" },
  );
  const { token } = JSON.parse(made.stdout);
  await instance.home.run(["login", instance.url, "--token-stdin"], { stdin: `${token}\n` });
}, 60_000);
afterAll(async () => {
  await receiver.close();
  await instance.close();
});

it("a channel is added, tested, subscribed and removed, and the feed says what happened", async () => {
  const added = await run(`channels add webhook --label ops --url ${receiver.url}`);
  expect(added.data).toMatchObject({ kind: "webhook", label: "ops", verified: false });
  expect(added.data.signingKey).toMatch(/^whsec_/);
  const failed = await run("channels test ops");
  expect([failed.code, failed.data]).toMatchObject([1, { code: "receiver_failed" }]);
  receiver.react(status(200));
  expect((await run("channels test ops")).data).toMatchObject({ ok: true, verified: true });
  expect((await run("subscribe token.created ops")).data).toMatchObject({ enabled: true });

  await instance.home.run(["token", "create", "--name", "ci", "--json"]);
  await instance.notifications.pass();
  expect(receiver.titles().at(-1)).toBe("An access token was made: ci");
  const feed = await run("feed --unseen --mark-seen");
  expect(feed.data.map((one: { title: string }) => one.title)).toEqual(["An access token was made: ci"]);
  expect((await run("feed --unseen")).data).toEqual([]);
  const log = await run("feed --all");
  expect(log.data.map((one: { channelKind: string }) => one.channelKind).sort()).toEqual([
    "in_app",
    "webhook",
  ]);

  const listed = await run("channels list");
  expect(listed.data.map((one: { label: string }) => one.label)).toEqual(["ops", "In-app"]);
  expect((await run("channels remove ops --yes")).data).toMatchObject({ removed: true });
}, 90_000);

it("secrets come from stdin, and what is wrong is said", async () => {
  const slack = await run(
    "channels add slack --label team --secret-stdin",
    "https://hooks.slack.com/services/T0/B0/abcdefgh\n",
  );
  expect(slack.data.config).toEqual({ webhookUrl: { set: true, last4: "efgh" } });
  expect((await run("channels verify team")).data).toMatchObject({ verified: true });
  const kind = await run("channels add pigeon");
  expect([kind.code, kind.data.error]).toEqual([2, 'There is no kind of channel "pigeon".']);
  const category = await run("subscribe nothing team");
  expect([category.code, category.data.error]).toEqual([2, 'There is no category "nothing".']);
  const address = await run("channels add email --address nobody");
  expect([address.code, address.data.details[0].path]).toEqual([1, "body.config.address"]);
}, 60_000);
