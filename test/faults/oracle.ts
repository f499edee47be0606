/**
 * The one judge of all cases: what a deployment must look like once it is over, and what the public URL answers. It
 * reads the rows past every module, and the stream as callers do, which must tell the same. What may be left on the
 * server is judged in rest.ts.
 */
import { expect } from "vitest";
import { deploymentStates, finalDeploymentStates } from "../../functions/deploy/states.ts";
import { streamDeployment } from "../../shared/contract/deployments.ts";
import { throughProxy } from "../functions/deploy/lab-world.ts";
import { buildLines } from "./app.ts";
import type { Controller } from "./controller.ts";
import type { Ending } from "./matrix.ts";
import { deploymentsOf, eventsOf, rowsOfDeployment } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import type { Subject } from "./subject.ts";

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
export async function judgePublicUrl(stage: FaultStage, { projectId, versions }: Subject): Promise<void> {
  const all = await deploymentsOf(stage.db, projectId);
  const live = all.findLast(({ operation }) => operation.state === "ready")?.deployment;
  if (live === undefined) throw new Error("no deployment has become ready");
  const { project } = await rowsOfDeployment(stage.db, live.id);
  expect(project.activeDeploymentId).toBe(live.id);
  const answer = await throughProxy(stage.machine, new URL(live.urls[0] ?? "").hostname, "/");
  expect(answer).toEqual({ status: 200, body: versions.get(live.commitSha ?? "") });
}
