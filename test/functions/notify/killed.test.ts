/** A process that is killed after the receiver has taken a delivery and before that was written. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { addChannel, type NotifyPlatform, openNotifyPlatform } from "./notify-platform.ts";
import { openReceiver, status } from "./receiver.ts";

let platform: NotifyPlatform;
beforeAll(async () => {
  platform = await openNotifyPlatform();
});
afterAll(() => platform.close());

function startSender(): ChildProcess {
  const script = fileURLToPath(new URL("./notify-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, platform.database.url, platform.key], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });
  return child;
}

const blocked = sql`pid <> pg_backend_pid() and datname = current_database() and wait_event_type = 'Lock'`;

it("sends it at most once more, with the same webhook-id, and then never again", async () => {
  const ada = await platform.organization();
  const receiver = await openReceiver();
  const channelId = await addChannel(ada, "webhook", { url: receiver.url });
  const written = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  receiver.react((response) => {
    // Held until the end of the test's transaction: the sender hears 200 and cannot write it down.
    void platform.db.transaction(async (tx) => {
      await rowsOf(tx, sql`select id from notification_channels where id = ${channelId} for update`);
      response.end();
      locked.resolve();
      await written.promise;
    });
  });
  await platform.raise(ada);
  const sender = startSender();
  await locked.promise;
  const waiting = async () =>
    (await rowsOf(platform.db, sql`select pid from pg_stat_activity where ${blocked}`)).length;
  await expect.poll(waiting, { timeout: 20_000 }).toBeGreaterThan(0);
  sender.kill("SIGKILL");
  await once(sender, "exit");
  // The database would still finish the statement of a client that is gone.
  await rowsOf(platform.db, sql`select pg_terminate_backend(pid) from pg_stat_activity where ${blocked}`);
  await expect.poll(waiting, { timeout: 20_000 }).toBe(0);
  written.resolve();

  receiver.react(status(200));
  await platform.pass();
  expect(receiver.received).toHaveLength(1);
  for (let turn = 0; turn < 3; turn++) {
    await platform.clock.advance(2 * limits.channelLeaseMs);
    await platform.pass();
  }
  const [first, second, ...more] = receiver.ids();
  expect([second, more]).toEqual([first, []]);
  const { body } = await ada.call("GET", "/deliveries?channel=all");
  const sent = body.data.find((one: { channelKind: string }) => one.channelKind === "webhook");
  expect(sent).toMatchObject({ id: first, status: "sent", attempts: 2 });
  await receiver.close();
}, 60_000);
