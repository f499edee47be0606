/**
 * What a row of the bench is: it measures the product beside its floor, in the same run on the same machine, and says
 * what was aimed at. A missed goal is a figure, never a failure; only what breaks throws.
 */
import type { Stage } from "./stage.ts";

export interface Row {
  /** For `--only`. */
  name: string;
  /** One sentence for `--help`. */
  what: string;
  measure(stage: Stage): Promise<Measured>;
}

export interface Measured {
  lines: Line[];
  /** What explains the figures: times of phases, counts. Printed below the table. */
  notes?: string[];
}

/** One line of the table. */
export interface Line {
  what: string;
  /** Unit of `ours` and `floor`. */
  unit: "ms" | "µs" | "/s" | "MB" | "requests";
  ours: number;
  /** null: there is nothing to compare with. */
  floor: number | null;
  goal: Goal;
}

export type Goal =
  /** ours / floor. */
  | { ratioAtMost: number }
  | { ratioAtLeast: number }
  /** ours, in the line's unit. */
  | { atMost: number }
  /** ours − floor, in the line's unit. */
  | { aboveFloorAtMost: number }
  | { none: string };

export function ratioOf({ ours, floor }: Line): number | null {
  return floor === null || floor === 0 ? null : ours / floor;
}

/** null: there is no goal. */
export function isMet(line: Line): boolean | null {
  const { goal, ours, floor } = line;
  const ratio = ratioOf(line);
  if ("atMost" in goal) return ours <= goal.atMost;
  if ("aboveFloorAtMost" in goal) return ours - (floor ?? 0) <= goal.aboveFloorAtMost;
  if ("ratioAtMost" in goal) return ratio !== null && ratio <= goal.ratioAtMost;
  if ("ratioAtLeast" in goal) return ratio !== null && ratio >= goal.ratioAtLeast;
  return null;
}

export function goalText({ goal, unit }: Line): string {
  if ("atMost" in goal) return `≤ ${goal.atMost} ${unit}`;
  if ("aboveFloorAtMost" in goal) return `≤ floor + ${goal.aboveFloorAtMost} ${unit}`;
  if ("ratioAtMost" in goal) return `≤ ${goal.ratioAtMost} ×`;
  if ("ratioAtLeast" in goal) return `≥ ${goal.ratioAtLeast} ×`;
  return goal.none;
}
