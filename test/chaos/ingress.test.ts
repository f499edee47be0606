/** A slice of the storm (soak/chaos.soak.test.ts has the whole): every part killed once under a concurrent load. */
import { afterEach, expect, test } from "vitest";
import { openOneProcess } from "./one-process.ts";
import { type Shape, storm } from "./storm.ts";

let shape: Shape | undefined;
afterEach(() => shape?.close());

test("accepted deliveries = committed rows = deployments, while process, queue and database are killed", async () => {
  shape = await openOneProcess({ repositories: 6 });
  const { breaches, rows, deployments } = await storm(shape, {
    ...{ deliveries: 400, connections: 64, seed: 20_261_121, withinMs: 60_000 },
    blows: ["process", "database", "both"],
  });
  expect(breaches).toEqual([]);
  expect(rows).toBeGreaterThan(400);
  expect(deployments).toBeGreaterThan(400);
}, 300_000);
