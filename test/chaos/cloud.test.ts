/** The slice of the storm in the shape of the cloud: the queue apart from the database, and everything killed at once. */
import { afterEach, expect, test } from "vitest";
import { openCloud } from "./cloud.ts";
import { type Shape, storm } from "./storm.ts";

let shape: Shape | undefined;
afterEach(() => shape?.close());

test("in the cloud the same, while the queue is killed, and then it, the worker, a deploy function and the database at once", async () => {
  shape = await openCloud({ repositories: 6 });
  const { breaches, rows, deployments } = await storm(shape, {
    ...{ deliveries: 200, connections: 32, seed: 20_261_122, withinMs: 120_000 },
    blows: ["queue", "everything"],
  });
  expect(breaches).toEqual([]);
  expect(rows).toBeGreaterThan(200);
  expect(deployments).toBeGreaterThan(200);
}, 400_000);
