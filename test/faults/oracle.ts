/**
 * The one judge of all cases. What a single deployment must look like once it is over (`judgeDeployment`), and what must
 * be left when nothing is under way any more (`judgeRest`). It reads the rows, the server and the public URL; the stream
 * it reads as callers do, and compares it with the rows.
 */
import { expect } from "vitest";
import { deploymentStates, finalDeploymentStates } from "../../functions/deploy/states.ts";
import { streamDeployment } from "../../shared/contract/deployments.ts";
import { throughProxy } from "../functions/deploy/lab-world.ts";
import { buildLines } from "./app.ts";
import type { Controller } from "./controller.ts";
import { type Inventory, inventoryOf } from "./inventory.ts";
import type { Ending } from "./matrix.ts";
import { deploymentsOf, eventsOf, openOperations, rowsOfDeployment } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import { until } from "./until.ts";

export async function judgeDeployment(
  stage: FaultStage,
  controller: Controller,
  id: string,
  ending: Ending,
): Promise<void> {
  const { operation, deployment } = await rowsOfDeployment(stage.db, id);
  expect({ status: operation.state, code: operation.error?.code }).toEqual({
    status: ending.status,
    code: ending.code,
  });
  expect(operation).toMatchObject({ final: true, inFlight: false, leaseOwner: null, leaseUntil: null });
  expect(operation.finishedAt).not.toBeNull();
  if (ending.status === "failed") expect(operation.error?.hint ?? "").not.toBe("");
  if (ending.status !== "ready") expect(deployment).toMatchObject({ hostPort: null, artifact: "none" });

  const events = await eventsOf(stage.db, id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  judgeMoves(events.flatMap(({ type, data }) => (type === "status" ? [String(data["status"])] : [])));
  expect(events.filter(({ type }) => type === "complete")).toEqual([events.at(-1)]);
  const turns = events.flatMap(({ type, data }) =>
    type === "phase" ? [`${data["phase"]} ${data["state"]}`] : [],
  );
  expect(turns).toEqual([...new Set(turns)]);
  judgeLines(
    events.flatMap(({ type, data }) => (type === "log" ? [String(data["line"])] : [])),
    ending,
  );

  const streamed: unknown[] = [];
  const told = stage.client(controller).stream(streamDeployment, { params: { id } });
  for await (const event of told) streamed.push([Number(event.id), event.event]);
  expect(streamed).toEqual(events.map(({ seq, type }) => [seq, type]));
}

/** Each state was reached by a move of the table. */
function judgeMoves(states: string[]): void {
  const table: Record<string, Record<string, string>> = deploymentStates;
  expect(states[0]).toBe("queued");
  for (const [index, state] of states.slice(1).entries()) {
    expect(Object.values(table[states[index] ?? ""] ?? {})).toContain(state);
  }
  expect(finalDeploymentStates).toContain(states.at(-1));
}

/** Each line of the build once and in order; all of them where it came to its end. */
function judgeLines(lines: string[], ending: Ending): void {
  const said = lines.flatMap((line) => /^#\d+ [\d.]+ (line-\d+)$/.exec(line)?.[1] ?? []);
  const all = Array.from({ length: buildLines }, (_, index) => `line-${index + 1}`);
  expect(said).toEqual(all.slice(0, ending.status === "ready" ? buildLines : said.length));
  for (const once of ["Fetching ", "Building ", "Starting the new container"]) {
    expect(lines.filter((line) => line.startsWith(once)).length).toBeLessThanOrEqual(1);
  }
}

/** The public URL answers as the newest version that became ready. */
export async function judgePublicUrl(
  stage: FaultStage,
  projectId: string,
  versions: ReadonlyMap<string, string>,
): Promise<void> {
  const live = (await deploymentsOf(stage.db, projectId)).findLast(
    ({ operation }) => operation.state === "ready",
  );
  const { project } = await rowsOfDeployment(stage.db, live?.deployment.id ?? "");
  expect(project.activeDeploymentId).toBe(live?.deployment.id);
  const host = new URL(live?.deployment.urls[0] ?? "http://none").hostname;
  const answer = await throughProxy(stage.machine, host, "/");
  expect(answer).toEqual({ status: 200, body: versions.get(live?.deployment.commitSha ?? "") });
}

const restMs = 120_000;

/** Waits until nothing is under way, ends the controllers and answers what the server holds. */
export async function rest(stage: FaultStage): Promise<Inventory> {
  // Clean-ups wait for the drain; somebody must be up to do them.
  if (stage.controllers.every((each) => !each.alive())) await stage.startController("short");
  await until(() => openOperations(stage.db), [], restMs, 250);
  await stage.stopControllers();
  await until(() => stage.relay.open(), 0, 10_000);
  return inventoryOf(stage.machine);
}

/** At rest, rows and server agree: what runs is what serves, what is kept is what a rollback may want. */
export async function judgeRest(stage: FaultStage, projectId: string, before: Inventory): Promise<void> {
  await rest(stage);
  const rows = await deploymentsOf(stage.db, projectId);
  const { project } = await rowsOfDeployment(stage.db, rows[0]?.deployment.id ?? "");
  const active = rows.find(({ deployment }) => deployment.id === project.activeDeploymentId)?.deployment;
  const held = rows.filter(({ deployment }) => deployment.hostPort !== null);
  expect(held.map(({ deployment }) => deployment.id)).toEqual([active?.id]);

  const expected = {
    containers: [`slipway-${active?.id.toLowerCase()} running`],
    images: rows
      .filter(({ deployment }) => deployment.artifact === "kept")
      .map(({ deployment }) => `slipway/${projectId.toLowerCase()}:${deployment.id.toLowerCase()}`)
      .sort(),
    units: [],
    sessions: [],
    processes: before.processes,
    files: before.files,
    ports: [active?.hostPort],
  };
  // sshd takes a moment to notice the end of a connection.
  await until(() => inventoryOf(stage.machine), expected, 20_000);
}
