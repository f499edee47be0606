import { expect, test } from "vitest";
import { createMetrics } from "../../../shared/adapters/prometheus-metrics.ts";
import { recordingLog, silentLog } from "../../silent-log.ts";

test("a counter is one line for each combination of labels, with help and type before it", async () => {
  const metrics = createMetrics({ log: silentLog });
  const counter = metrics.counter({ name: "slipway_things_total", help: "Things\nof all kinds." });
  counter.add({ kind: "a" });
  counter.add({ kind: "a" });
  counter.add({ kind: 'b"\\\n' }, 3);
  expect(await metrics.expose()).toBe(
    [
      "# HELP slipway_things_total Things of all kinds.",
      "# TYPE slipway_things_total counter",
      'slipway_things_total{kind="a"} 2',
      'slipway_things_total{kind="b\\"\\\\\\n"} 3',
      "",
    ].join("\n"),
  );
});

test("the buckets of a histogram add up, and the last holds everything", async () => {
  const metrics = createMetrics({ log: silentLog });
  const histogram = metrics.histogram({ name: "slipway_wait_seconds", help: "Waits.", buckets: [0.1, 1] });
  for (const seconds of [0.1, 0.5, 7]) histogram.observe({ route: "/x" }, seconds);
  expect((await metrics.expose()).split("\n").slice(2)).toEqual([
    'slipway_wait_seconds_bucket{route="/x",le="0.1"} 1',
    'slipway_wait_seconds_bucket{route="/x",le="1"} 2',
    'slipway_wait_seconds_bucket{route="/x",le="+Inf"} 3',
    'slipway_wait_seconds_sum{route="/x"} 7.6',
    'slipway_wait_seconds_count{route="/x"} 3',
    "",
  ]);
});

test("labels without bound end up in one series, so that memory has one", async () => {
  const metrics = createMetrics({ log: silentLog });
  const counter = metrics.counter({ name: "slipway_things_total", help: "Things." });
  for (let index = 0; index < 5_000; index++) counter.add({ path: `/${index}` });
  const lines = (await metrics.expose()).split("\n");
  expect(lines.length).toBeLessThan(1_010);
  expect(lines).toContain('slipway_things_total{path="other"} 4000');
});

test("a gauge that cannot be read leaves the others alone", async () => {
  const log = recordingLog();
  const metrics = createMetrics({ log });
  metrics.gauges([{ name: "slipway_broken", help: "Broken." }], () => Promise.reject(new Error("away")));
  metrics.gauges([{ name: "slipway_fine", help: "Fine." }], () => [{ name: "slipway_fine", value: 1.5 }]);
  expect(await metrics.expose()).toBe(
    "# HELP slipway_fine Fine.\n# TYPE slipway_fine gauge\nslipway_fine 1.5\n",
  );
  expect(log.lines).toMatchObject([{ level: "warn", message: "some metrics could not be read" }]);
});
