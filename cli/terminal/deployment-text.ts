/** How deployments look to a person: a table, one in full, an event while it is under way, its end. */
import type { StreamEvent } from "../api/connect.ts";
import type { Deployment } from "../api/shapes.ts";
import type { Output } from "./output.ts";
import { fields, table } from "./table.ts";
import { plainText } from "./text.ts";
import { ago, duration } from "./time.ts";

export function deploymentTable(deployments: readonly Deployment[], nowMs: number): string {
  if (deployments.length === 0) return "No deployments yet.";
  return table(
    ["ID", "STATUS", "ACTIVE", "TRIGGER", "BRANCH", "COMMIT", "CREATED", "TOOK"],
    deployments.map((one) => [
      one.id,
      one.status,
      one.isActive ? (one.pinned ? "yes, pinned" : "yes") : one.pinned ? "pinned" : "",
      one.trigger,
      one.branch ?? "-",
      one.commitSha?.slice(0, 8) ?? "-",
      ago(one.createdAt, nowMs),
      took(one) ?? "-",
    ]),
  );
}

export function deploymentText(one: Deployment, nowMs: number): string {
  const phases = Object.entries(one.phases).map(([phase, ms]) => `${phase} ${duration(ms ?? 0)}`);
  const text = fields([
    ["id", one.id],
    ["project", one.projectId],
    ["status", one.decision === "none" ? one.status : `${one.status} (${one.decision})`],
    ["active", one.isActive ? "yes" : "no"],
    ["pinned", one.pinned ? "yes" : null],
    ["trigger", one.trigger],
    ["branch", one.branch],
    ["commit", one.commitSha],
    ["message", one.commitMessage],
    ["rollback of", one.rollbackOf],
    ["created", ago(one.createdAt, nowMs)],
    ["took", took(one)],
    ["phases", phases.join(", ")],
    ["address", one.urls.join(" ")],
  ]);
  return one.error === null ? text : `${text}\n\n${errorText(one.error)}`;
}

/** One line for an event of the stream, or nothing where a person would learn nothing. */
export function eventText({ type, data }: StreamEvent, output: Output): string | undefined {
  if (type === "log") {
    const line = String(data["line"] ?? "");
    return data["stream"] === "system" ? output.style("cyan", line) : line;
  }
  if (type === "phase") {
    const phase = plainText(String(data["phase"] ?? ""));
    const ms = typeof data["ms"] === "number" ? ` ${duration(data["ms"])}` : "";
    const state = plainText(String(data["state"] ?? ""));
    return output.style("bold", `▸ ${phase} ${state}${ms}`);
  }
  return undefined;
}

/** Status, time and addresses, or what went wrong and the last lines of the log. */
export function endingText(settled: Deployment, output: Output): string {
  const time = took(settled);
  const head = time === null ? settled.status : `${settled.status} after ${time}`;
  if (settled.status !== "ready") {
    const details = settled.error === null ? [] : [errorText(settled.error)];
    return [output.style("red", `✗ ${head}`), ...details].join("\n");
  }
  return [output.style("green", `✓ ${head}`), ...settled.urls.map((url) => `  ${plainText(url)}`)].join("\n");
}

function errorText(error: NonNullable<Deployment["error"]>): string {
  const hint = error.hint === null ? [] : [`Hint: ${plainText(error.hint)}`];
  const tail =
    error.logTail.length === 0 ? [] : ["Last lines of the log:", ...error.logTail.map((line) => `  ${line}`)];
  return [`${plainText(error.message)} (${plainText(error.code)})`, ...hint, ...tail].join("\n");
}

function took(one: Deployment): string | null {
  return one.finishedAt === null ? null : duration(Date.parse(one.finishedAt) - Date.parse(one.createdAt));
}
