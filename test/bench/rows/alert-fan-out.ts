/** One alert that a thousand webhook channels want: how long until the last of them has it. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import * as notifications from "../../../shared/contract/notifications.ts";
import * as organizations from "../../../shared/contract/organizations.ts";
import type { Row } from "../row.ts";
import type { Stage } from "../stage.ts";

const atOnce = 64;
const mostMs = 120_000;

export const alertFanOut: Row = {
  name: "alert-fan-out",
  what: "one alert to 1,000 webhook channels; floor: the same posts from a bare client, 64 at once",
  async measure(stage) {
    const channels = stage.quick ? 100 : 1_000;
    const receiver = await openReceiver();
    stage.onClose(receiver.close);
    await addChannels(stage, receiver.url, channels);
    const floor = await timed(async () => {
      await inTurns(channels, () => post(receiver.url));
      await receiver.untilReceived(channels);
    });
    receiver.forget();
    const { client } = await stage.platform();
    const ours = await timed(async () => {
      await client.call(organizations.createToken, { json: { name: "raises an alert" } });
      await receiver.untilReceived(channels);
    });
    return {
      lines: [
        {
          ...{ what: `one alert to ${channels} channels`, unit: "ms", ours, floor },
          goal: { atMost: 10_000 },
        },
      ],
      notes: [
        `${Math.round(channels / (ours / 1000))} deliveries a second, each signed, guarded and written down`,
      ],
    };
  },
};

async function addChannels(stage: Stage, url: string, count: number): Promise<void> {
  const { client } = await stage.platform();
  await inTurns(count, async () => {
    const json = { kind: "webhook", label: "bench", config: { url } } as const;
    const { data } = await client.call(notifications.createChannel, { json });
    await client.call(notifications.updateChannel, { params: { id: data.id }, json: { verified: true } });
  });
}

async function openReceiver() {
  let received = 0;
  let onReceived = () => {};
  const server = createServer((incoming, response) => {
    incoming.resume().on("end", () => {
      response.end();
      received += 1;
      onReceived();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    forget: () => {
      received = 0;
    },
    untilReceived: (count: number) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`Only ${received} of ${count} arrived.`)), mostMs);
        onReceived = () => {
          if (received < count) return;
          clearTimeout(timer);
          resolve();
        };
        onReceived();
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function post(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent: false }, (response) => {
      response.resume().on("end", resolve);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ type: "deploy.failed", data: "x".repeat(500) }));
  });
}

async function inTurns(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  const next = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
