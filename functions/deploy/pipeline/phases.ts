/**
 * How long each phase took, kept in the operation's progress so that it survives a change of owner. A phase that a new
 * owner finds begun keeps its first start: the user waited all that time.
 */
import { type DeploymentPhase, deploymentPhases } from "../../../shared/domain/deployment.ts";
import type { NewEvent } from "../../../shared/operations/definition.ts";

type Progress = Readonly<Record<string, unknown>>;

/** Milliseconds of each finished phase. */
export function phasesOf(progress: Progress): Partial<Record<DeploymentPhase, number>> {
  const stored = numbers(progress["phases"]);
  return Object.fromEntries(
    deploymentPhases.flatMap((phase) => (stored[phase] === undefined ? [] : [[phase, stored[phase]]])),
  );
}

export interface PhaseTurn {
  ended?: DeploymentPhase;
  begun?: DeploymentPhase;
  /** What the platform says as the phase begins; said once, whoever owns the work. */
  say?: string;
}

/** Events and progress of the turn; empty where an earlier owner has noted it already. */
export function turnPhase(
  progress: Progress,
  { ended, begun, say }: PhaseTurn,
  nowMs: number,
): { events: NewEvent[]; progress: Record<string, unknown> } {
  const starts = numbers(progress["phaseStarts"]);
  const phases = numbers(progress["phases"]);
  const events: NewEvent[] = [];
  const patch: Record<string, unknown> = {};
  if (ended !== undefined && phases[ended] === undefined) {
    const ms = Math.max(0, nowMs - (starts[ended] ?? nowMs));
    events.push({ type: "phase", data: { phase: ended, state: "done", ms } });
    patch["phases"] = { ...phases, [ended]: ms };
  }
  if (begun !== undefined && starts[begun] === undefined) {
    events.push({ type: "phase", data: { phase: begun, state: "started", ms: 0 } });
    if (say !== undefined) events.push(systemLine(begun, say));
    patch["phaseStarts"] = { ...starts, [begun]: nowMs };
  }
  return { events, progress: patch };
}

/** Whether anything was done on the server for this phase. */
export function hasBegun(progress: Progress, phase: DeploymentPhase): boolean {
  return numbers(progress["phaseStarts"])[phase] !== undefined;
}

export function systemLine(phase: DeploymentPhase, line: string): NewEvent {
  return { type: "log", data: { stream: "system", phase, line } };
}

function numbers(value: unknown): Record<string, number> {
  return typeof value === "object" && value !== null ? (value as Record<string, number>) : {};
}
