/** Ten thousand deliveries with repeats, while everything that can be killed is killed, more than once. */
import { afterEach, expect, test } from "vitest";
import { openCloud } from "../chaos/cloud.ts";
import { openOneProcess } from "../chaos/one-process.ts";
import { type Shape, storm } from "../chaos/storm.ts";

const deliveries = Number(process.env["SLIPWAY_CHAOS_DELIVERIES"] ?? 10_000);
/** Workerd and what stands in for the cloud share this machine with the load: on two busy cores 40 deliveries a second. */
const loadMs = 1_200_000;
/** The load, the last claims to run out, and the deployments that were under way. */
const stormMs = loadMs + 400_000;
/** The same storm again: SLIPWAY_CHAOS_SEED. */
const seed = Number(process.env["SLIPWAY_CHAOS_SEED"] ?? Date.now() % 1_000_000);

let shape: Shape | undefined;
afterEach(() => shape?.close());

async function weather(opened: Shape, connections: number, blows: readonly string[]): Promise<void> {
  shape = opened;
  const { breaches, ...seen } = await storm(opened, {
    ...{ deliveries, connections, seed, withinMs: loadMs, blows },
  });
  console.log(JSON.stringify({ seed, ...seen }));
  expect(breaches).toEqual([]);
}

test(
  "npm start: accepted deliveries = committed rows = deployments of distinct pushes",
  async () => {
    await weather(await openOneProcess({ repositories: 40 }), 256, [
      ...["process", "database", "both", "restart", "process", "database", "both"],
    ]);
  },
  stormMs,
);

test(
  "the cloud: the same, with the worker, two deploy functions, the queue and the database apart",
  async () => {
    await weather(await openCloud({ repositories: 40 }), 64, [
      ...["queue", "worker", "database", "deploy", "queue", "everything", "worker", "database", "deploy"],
    ]);
  },
  stormMs,
);
