/**
 * What an instance says about itself beside its requests: this process, its pools, its streams, and the work that
 * waits in the database. The database is asked at most every 10 s however many monitors there are, and only over
 * indexes: the cost does not grow with the history.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { sql } from "drizzle-orm";
import type { Database } from "../shared/db/database.ts";
import { firstIdAt } from "../shared/domain/identifier.ts";
import type { OperationObserver } from "../shared/operations/run-operation.ts";
import { rowsOf } from "../shared/operations/statements.ts";
import type { Clock } from "../shared/ports/clock.ts";
import type { Metrics, Sample } from "../shared/ports/metrics.ts";

export interface InstanceParts {
  version: string;
  mode: string;
  /** Absent where another part tells of the work in the database: it would be counted once a part. */
  db?: Database;
  /** For the age of what the database said. */
  clock: Pick<Clock, "nowMs">;
  pool: () => { total: number; idle: number; waiting: number };
  /** Absent where this process reaches no servers. */
  shell?: () => { connections: number; channels: number };
  streams: () => number;
  /** Messages that were given up; absent where this process has no queue. */
  countDead?: () => Promise<number>;
}

const databaseCacheMs = 10_000;
const dayMs = 24 * 3_600_000;

/** For `RunnerOptions.observer`. */
export function observeOperations(metrics: Metrics): OperationObserver {
  const ended = metrics.counter({
    name: "slipway_operations_ended_total",
    help: "Operations that ended in this process, by kind and final state.",
  });
  const lost = metrics.counter({
    name: "slipway_lease_losses_total",
    help: "Leases that this process lost while it worked on an operation, by kind.",
  });
  return {
    ended: (kind, state) => ended.add({ kind, state }),
    leaseLost: (kind) => lost.add({ kind }),
  };
}

/** Answers what stops the measuring. */
export function measureInstance(metrics: Metrics, parts: InstanceParts): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  metrics.gauges(processGauges, () => [
    ...processSamples(parts),
    ...[0.5, 0.99].map((quantile) => ({
      name: "slipway_event_loop_delay_seconds",
      labels: { quantile: String(quantile) },
      value: delay.percentile(quantile * 100) / 1e9,
    })),
    { name: "slipway_event_loop_delay_seconds", labels: { quantile: "1" }, value: delay.max / 1e9 },
  ]);
  const { db, shell, countDead } = parts;
  if (db !== undefined) {
    metrics.gauges(
      databaseGauges,
      cached(parts.clock, () => databaseSamples(db)),
    );
  }
  if (shell !== undefined) metrics.gauges(shellGauges, () => shellSamples(shell()));
  if (countDead !== undefined) {
    const dead = { name: "slipway_queue_dead", help: "Messages that were given up; their operations go on." };
    metrics.gauges(
      [dead],
      cached(parts.clock, async () => [{ name: dead.name, value: await countDead() }]),
    );
  }
  return () => void delay.disable();
}

const processGauges = [
  { name: "slipway_build_info", help: "Version, mode and Node's version; always 1." },
  { name: "slipway_process_start_time_seconds", help: "When this process began, seconds since 1970." },
  { name: "slipway_process_resident_memory_bytes", help: "Memory of this process, without its database." },
  { name: "slipway_process_heap_used_bytes", help: "JavaScript heap in use." },
  { name: "slipway_process_cpu_seconds", help: "Processor time that this process has used." },
  { name: "slipway_event_loop_delay_seconds", help: "Delay of the event loop since the start, by quantile." },
  { name: "slipway_database_connections", help: "Connections of the pool, by state." },
  { name: "slipway_database_waiting", help: "Statements that wait for a connection." },
  { name: "slipway_streams_open", help: "Open event streams." },
];

function processSamples({ version, mode, pool, streams }: InstanceParts): Sample[] {
  const memory = process.memoryUsage();
  const cpu = process.cpuUsage();
  const { total, idle, waiting } = pool();
  return [
    { name: "slipway_build_info", labels: { version, mode, node: process.versions.node }, value: 1 },
    { name: "slipway_process_start_time_seconds", value: performance.timeOrigin / 1000 },
    { name: "slipway_process_resident_memory_bytes", value: memory.rss },
    { name: "slipway_process_heap_used_bytes", value: memory.heapUsed },
    { name: "slipway_process_cpu_seconds", value: (cpu.user + cpu.system) / 1e6 },
    { name: "slipway_database_connections", labels: { state: "busy" }, value: total - idle },
    { name: "slipway_database_connections", labels: { state: "idle" }, value: idle },
    { name: "slipway_database_waiting", value: waiting },
    { name: "slipway_streams_open", value: streams() },
  ];
}

const shellGauges = [
  { name: "slipway_ssh_connections", help: "Open SSH connections to servers." },
  { name: "slipway_ssh_channels", help: "Commands that run over them." },
];

function shellSamples({ connections, channels }: { connections: number; channels: number }): Sample[] {
  return [
    { name: "slipway_ssh_connections", value: connections },
    { name: "slipway_ssh_channels", value: channels },
  ];
}

const databaseGauges = [
  { name: "slipway_operations_open", help: "Operations that are not final, by kind and state." },
  { name: "slipway_operations_ownerless", help: "In flight, but nobody has held the lease for two minutes." },
  { name: "slipway_deliveries", help: "Deliveries received in the last 24 hours, by status." },
  { name: "slipway_deliveries_without_project", help: "Of these, the ones that no project was found for." },
  {
    name: "slipway_branches_unseen",
    help: "Branches that could not be looked at for missed pushes, lately.",
  },
  { name: "slipway_alerts_waiting", help: "Alerts that were raised and not told yet." },
  { name: "slipway_notifications_waiting", help: "Notifications that wait for their channel." },
];

async function databaseSamples(db: Database): Promise<Sample[]> {
  const operations = await rowsOf<{ kind: string; state: string; count: number; ownerless: number }>(
    db,
    sql`
      select kind, state, count(*)::int as count,
        count(*) filter (where in_flight and (run_after is null or run_after <= now())
          and coalesce(lease_until, started_at) < now() - interval '2 minutes')::int as ownerless
      from operations where not final group by kind, state`,
  );
  // Ids begin with their time, so that the primary key finds a day without an index of its own.
  const yesterday = firstIdAt("delivery", Date.now() - dayMs);
  const deliveries = await rowsOf<{ status: string; count: number; lost: number }>(
    db,
    sql`
      select status, count(*)::int as count, count(*) filter (where organization_id is null)::int as lost
      from webhook_deliveries where id >= ${yesterday} group by status`,
  );
  const [waiting] = await rowsOf<{ alerts: number; notifications: number; unseen: number }>(
    db,
    sql`
      select (select count(*)::int from alerts where told_at is null) as alerts,
        (select count(*)::int from notification_deliveries where status in ('queued', 'sending')) as notifications,
        (select count(*)::int from branch_heads where misses > 0) as unseen`,
  );
  return [
    { name: "slipway_branches_unseen", value: waiting?.unseen ?? 0 },
    { name: "slipway_alerts_waiting", value: waiting?.alerts ?? 0 },
    { name: "slipway_notifications_waiting", value: waiting?.notifications ?? 0 },
    ...operations.map(({ kind, state, count }) => ({
      name: "slipway_operations_open",
      labels: { kind, state },
      value: count,
    })),
    { name: "slipway_operations_ownerless", value: sum(operations.map(({ ownerless }) => ownerless)) },
    ...deliveries.map(({ status, count }) => ({
      name: "slipway_deliveries",
      labels: { status },
      value: count,
    })),
    { name: "slipway_deliveries_without_project", value: sum(deliveries.map(({ lost }) => lost)) },
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** One question at a time, and none while the last answer is young. */
function cached(clock: Pick<Clock, "nowMs">, read: () => Promise<Sample[]>): () => Promise<Sample[]> {
  let known: { atMs: number; samples: Promise<Sample[]> } | null = null;
  return async () => {
    if (known === null || clock.nowMs() - known.atMs >= databaseCacheMs) {
      const samples = read();
      known = { atMs: clock.nowMs(), samples };
    }
    return await known.samples;
  };
}
