/**
 * What may be there when nothing is under way any more: on the server what serves, and what a rollback may want; of the
 * platform no process and no connection. Compared with the server as it was before the first deployment.
 */
import { and, eq, gt } from "drizzle-orm";
import { expect } from "vitest";
import type { Database } from "../../shared/db/database.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { type Inventory, inventoryOf } from "./inventory.ts";
import { deploymentsOf, openOperations, rowsOfDeployment } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import type { Subject } from "./subject.ts";
import { until } from "./until.ts";

const restMs = 120_000;

export async function judgeRest(stage: FaultStage, subjects: readonly Subject[]): Promise<void> {
  // Clean-ups wait for the drain; somebody must be up to do them.
  if (stage.controllers.every((each) => !each.alive())) await stage.startController("short");
  const open = async () => {
    await bringForward(stage.db);
    return openOperations(stage.db);
  };
  await until(open, [], restMs, 250);
  await stage.stopControllers();
  await until(() => stage.relay.open(), 0, 10_000);
  const kept = await Promise.all(subjects.map(({ projectId }) => rowsSay(stage, projectId)));
  const expected = {
    containers: kept.map(({ container }) => container).sort(),
    images: kept.flatMap(({ images }) => images).sort(),
    ports: kept.map(({ port }) => port).sort(),
    units: [],
    sessions: [],
    processes: processesOfContainers(kept.length),
    files: [],
  };
  // sshd takes a moment to notice the end of a connection.
  const here = async () => beside(stage.before, await inventoryOf(stage.machine), subjects);
  await until(here, expected, 20_000);
}

/** What is left to do on a server that was away waits for minutes. */
async function bringForward(db: Database): Promise<void> {
  await db
    .update(operations)
    .set({ runAfter: new Date() })
    .where(and(eq(operations.state, "queued"), gt(operations.runAfter, new Date(Date.now() + 60_000))));
}

/** What a project has on the server, by the database. */
async function rowsSay(stage: FaultStage, projectId: string) {
  const rows = (await deploymentsOf(stage.db, projectId)).map(({ deployment }) => deployment);
  const { project } = await rowsOfDeployment(stage.db, rows[0]?.id ?? "");
  const [active, ...others] = rows.filter(({ hostPort }) => hostPort !== null);
  expect([active?.id, others]).toEqual([project.activeDeploymentId, []]);
  const images = rows.filter(({ artifact }) => artifact === "kept");
  return {
    container: `slipway-${active?.id.toLowerCase()} running`,
    port: active?.hostPort ?? 0,
    images: images.map(({ id }) => `slipway/${projectId.toLowerCase()}:${id.toLowerCase()}`),
  };
}

/** Of each container: the engine's two, and the app. */
const containerProcesses = [
  /^\/usr\/bin\/containerd-shim/,
  /^\/usr\/s?bin\/docker-proxy/,
  /^node \/app\.js$/,
];

function processesOfContainers(count: number): string[] {
  return containerProcesses.map(({ source }) => `${count} ${source}`);
}

/** What is there now and was not before, but for what every project has for good. */
function beside(before: Inventory, now: Inventory, subjects: readonly Subject[]): Inventory {
  const known = [...before.processes];
  const strangers = now.processes.filter((line) => {
    const at = known.indexOf(line);
    if (at >= 0) known.splice(at, 1);
    return at < 0;
  });
  const counted = containerProcesses.map(
    (form) => `${strangers.filter((line) => form.test(line)).length} ${form.source}`,
  );
  const others = strangers.filter((line) => !containerProcesses.some((form) => form.test(line)));
  const ids = subjects.map(({ projectId }) => projectId).join("|");
  const lasting = new RegExp(
    `^/var/lib/slipway/(operations|fences|projects|projects/(${ids})|fences/(${ids})(-clean-up)?(\\.lock)?)$`,
  );
  return {
    ...now,
    processes: [...counted, ...others],
    files: now.files.filter((path) => !before.files.includes(path) && !lasting.test(path)),
  };
}
