/** Ten thousand deliveries with repeats, while everything that can be killed is killed, more than once. */
import { afterEach, expect, test } from "vitest";
import { openOneProcess } from "../chaos/one-process.ts";
import { type Shape, storm } from "../chaos/storm.ts";

const deliveries = 10_000;
/** Another storm: SLIPWAY_CHAOS_SEED. */
const seed = Number(process.env["SLIPWAY_CHAOS_SEED"] ?? Date.now() % 1_000_000);

let shape: Shape | undefined;
afterEach(() => shape?.close());

async function weather(opened: Shape, blows: readonly string[]): Promise<void> {
  shape = opened;
  const { breaches, ...seen } = await storm(opened, {
    ...{ deliveries, connections: 256, seed, withinMs: 400_000, blows },
  });
  console.log(JSON.stringify({ seed, ...seen }));
  expect(breaches).toEqual([]);
}

test("npm start: accepted deliveries = committed rows = deployments of distinct pushes", async () => {
  await weather(await openOneProcess({ repositories: 40 }), [
    ...["process", "database", "both", "restart", "process", "database", "both"],
  ]);
});
