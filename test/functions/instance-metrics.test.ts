/** What an instance says of itself, on a real database. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { measureInstance, observeOperations } from "../../functions/instance-metrics.ts";
import { createMetrics } from "../../shared/adapters/prometheus-metrics.ts";
import { webhookDeliveries } from "../../shared/db/delivery-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { manualClock } from "../manual-clock.ts";
import { silentLog } from "../silent-log.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

function measured() {
  const metrics = createMetrics({ log: silentLog });
  const clock = manualClock();
  const stop = measureInstance(metrics, {
    version: "1.2.3",
    mode: "self-hosted",
    db: database.db,
    clock,
    pool: () => ({ total: 5, idle: 3, waiting: 1 }),
    shell: () => ({ connections: 2, channels: 4 }),
    streams: () => 6,
    countDead: async () => 7,
  });
  return { metrics, clock, stop };
}

async function addDelivery(status: "done" | "failed", organizationId: string | null): Promise<void> {
  const id = newId("delivery");
  const row = { id, provider: "git_host", deliveryId: id, headers: {}, body: new Uint8Array() };
  await database.db.insert(webhookDeliveries).values({ ...row, organizationId, status });
}

test("pools, streams, memory and the event loop are read when somebody asks", async () => {
  const { metrics, stop } = measured();
  const text = await metrics.expose();
  stop();
  for (const line of [
    `slipway_build_info{version="1.2.3",mode="self-hosted",node="${process.versions.node}"} 1`,
    'slipway_database_connections{state="busy"} 2',
    'slipway_database_connections{state="idle"} 3',
    "slipway_database_waiting 1",
    "slipway_ssh_connections 2",
    "slipway_ssh_channels 4",
    "slipway_streams_open 6",
    "slipway_queue_dead 7",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
  expect(text).toMatch(/^slipway_process_resident_memory_bytes [1-9]\d{6,}$/m);
  expect(text).toMatch(/^slipway_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+$/m);
});

test("open operations by kind and state, and deliveries of a day by status, come from the database", async () => {
  const { organizationId } = await seedOrganization(database.db);
  const stale = new Date(Date.now() - 300_000);
  const common = { organizationId, kind: "deployment" };
  await database.db.insert(operations).values([
    { ...common, id: newId("deployment"), subjectId: "a", state: "queued" },
    {
      ...common,
      id: newId("deployment"),
      subjectId: "b",
      state: "building",
      inFlight: true,
      leaseUntil: stale,
    },
    { ...common, id: newId("deployment"), subjectId: "c", state: "ready", final: true },
  ]);
  await addDelivery("done", organizationId);
  await addDelivery("failed", null);
  const { metrics, stop } = measured();
  const lines = (await metrics.expose()).split("\n");
  stop();
  expect(lines).toContain('slipway_operations_open{kind="deployment",state="queued"} 1');
  expect(lines).toContain('slipway_operations_open{kind="deployment",state="building"} 1');
  expect(lines.filter((line) => line.includes('state="ready"'))).toEqual([]);
  expect(lines).toContain("slipway_operations_ownerless 1");
  expect(lines).toContain('slipway_deliveries{status="done"} 1');
  expect(lines).toContain('slipway_deliveries{status="failed"} 1');
  expect(lines).toContain("slipway_deliveries_without_project 1");
  expect(lines).toContain("slipway_alerts_waiting 0");
  expect(lines).toContain("slipway_notifications_waiting 0");
});

test("the database is asked at most every 10 s", async () => {
  const { metrics, clock, stop } = measured();
  const failed = async () =>
    /^slipway_deliveries\{status="failed"\} (\d+)$/m.exec(await metrics.expose())?.[1];
  const before = Number(await failed());
  await addDelivery("failed", null);
  await clock.advance(9_999);
  expect(Number(await failed())).toBe(before);
  await clock.advance(1);
  expect(Number(await failed())).toBe(before + 1);
  stop();
});

test("operations that ended and leases that were lost are counted by kind", async () => {
  const metrics = createMetrics({ log: silentLog });
  const observer = observeOperations(metrics);
  observer.ended("deployment", "ready");
  observer.leaseLost("deployment");
  const lines = (await metrics.expose()).split("\n");
  expect(lines).toContain('slipway_operations_ended_total{kind="deployment",state="ready"} 1');
  expect(lines).toContain('slipway_lease_losses_total{kind="deployment"} 1');
});
