/** What the outbox costs the transaction that raises an alert: with it and without it, in turns, on one database. */
import { openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../../shared/adapters/embedded-postgres.ts";
import { openDatabase } from "../../../shared/adapters/postgres.ts";
import { migrateDatabase } from "../../../shared/adapters/postgres-migrate.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Database } from "../../../shared/db/database.ts";
import { organizations } from "../../../shared/db/identity-tables.ts";
import { raiseAlert } from "../../../shared/db/raise-alert.ts";
import { makeDataFolder, removeDataFolder } from "../../demo/platform-process.ts";
import { silentLog } from "../../silent-log.ts";
import type { Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

const organizationId = "org_bench";

export const raiseAlertRow: Row = {
  name: "raise-alert",
  what: "a transaction that raises an alert, p95; floor: the same one without the outbox",
  async measure(stage) {
    const dataFolder = await makeDataFolder();
    const folder = await openDataFolder(dataFolder, { purpose: "platform" });
    const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
    await migrateDatabase(postgres.url, { log: silentLog });
    const { db, close } = openDatabase({ url: postgres.url, log: silentLog, max: 2 });
    try {
      await db
        .insert(organizations)
        .values({ id: organizationId, name: "Bench", primaryOwnerId: "usr_bench" });
      const rounds = stage.quick ? 100 : 1_000;
      const times = { with: [] as number[], without: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        times.without.push(await timed(db, false));
        times.with.push(await timed(db, true));
      }
      const p95 = { ours: percentile(times.with, 95), floor: percentile(times.without, 95) };
      const [usual, bare] = [median(times.with), median(times.without)];
      return {
        lines: [{ what: "raising transaction, p95", unit: "ms", ...p95, goal: { aboveFloorAtMost: 5 } }],
        notes: [`median ${usual.toFixed(2)} ms, without the outbox ${bare.toFixed(2)} ms`],
      };
    } finally {
      await close();
      await postgres.stop();
      folder.release();
      await removeDataFolder(dataFolder);
    }
  },
};

const nobody = { organizationId, userId: null, credentialId: null, sourceIp: null, requestId: null };

async function timed(db: Database, raises: boolean): Promise<number> {
  const startedMs = performance.now();
  await db.transaction(async (tx) => {
    await writeAudit(tx, nobody, { action: "bench.ran", resource: { kind: "bench", id: "1" } });
    if (!raises) return;
    await raiseAlert(tx, {
      ...{ organizationId, category: "deploy.failed", title: "Deploying shop failed", message: "Exit 1." },
      resource: { type: "deployment", id: "dep_bench" },
    });
  });
  return performance.now() - startedMs;
}
