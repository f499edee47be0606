/** How deliveries of git hosts look to a person. */
import type { Delivery, DeliveryDetail } from "../api/shapes.ts";
import { fields, table } from "./table.ts";
import { ago } from "./time.ts";

export function deliveryTable(deliveries: readonly Delivery[], nowMs: number): string {
  if (deliveries.length === 0) return "No deliveries.";
  return table(
    ["ID", "WHEN", "EVENT", "REPOSITORY", "BRANCH", "COMMIT", "STATUS", "WHY"],
    deliveries.map((one) => [
      one.id,
      ago(one.receivedAt, nowMs),
      one.event ?? "-",
      one.repository ?? "-",
      one.branch ?? "-",
      one.commitSha?.slice(0, 8) ?? "-",
      one.status,
      one.reason ?? "",
    ]),
  );
}

export function deliveryText(one: DeliveryDetail, nowMs: number): string {
  const replay = one.replay === null ? null : `${ago(one.replay.at, nowMs)} by ${one.replay.by}`;
  const head = fields([
    ["id", one.id],
    ["delivery id", one.deliveryId],
    ["received", ago(one.receivedAt, nowMs)],
    ["event", one.event],
    ["repository", one.repository],
    ["branch", one.branch],
    ["commit", one.commitSha],
    ["signed by", one.verdict === "instance_secret" ? "the secret of the instance" : "a project's secret"],
    ["status", one.status],
    ["why", one.message],
    ["attempts", String(one.attempts)],
    ["tried again", one.nextAttemptAt === null ? null : ago(one.nextAttemptAt, nowMs)],
    ["replayed", replay],
    ["size", `${one.body.bytes} bytes`],
  ]);
  return [head, projectsOf(one), deploymentsOf(one, nowMs)].filter((part) => part !== "").join("\n\n");
}

export function replayText(one: DeliveryDetail): string {
  const started = one.projects.flatMap(({ name, deploymentId }) =>
    deploymentId === null ? [] : [`${name}: ${deploymentId} was started.`],
  );
  const skipped = one.projects.flatMap(({ name, message }) =>
    message === null ? [] : [`${name}: ${message}`],
  );
  const all = [...started, ...skipped];
  return all.length === 0 ? (one.message ?? "Nothing follows from it.") : all.join("\n");
}

function projectsOf({ projects }: DeliveryDetail): string {
  if (projects.length === 0) return "";
  return table(
    ["PROJECT", "OUTCOME", "WHY"],
    projects.map(({ name, deploymentId, message }) => [name, deploymentId ?? "skipped", message ?? ""]),
  );
}

function deploymentsOf({ deployments }: DeliveryDetail, nowMs: number): string {
  if (deployments.length === 0) return "";
  return table(
    ["DEPLOYMENT", "STATUS", "CREATED"],
    deployments.map(({ id, status, createdAt }) => [id, status, ago(createdAt, nowMs)]),
  );
}
