/** The one table at the end, for people; and the same as JSON. */
import { loadavg } from "node:os";
import { goalText, isMet, type Line, type Measured, type Row, ratioOf } from "./row.ts";

export interface Outcome {
  row: Row;
  measured: Measured;
}

export function asTable(outcomes: readonly Outcome[]): string {
  const head = ["", "ours", "floor", "ratio", "goal", "met"];
  const cells = outcomes.flatMap(({ measured }) => measured.lines.map(cellsOf));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((each) => each[column]?.length ?? 0)),
  );
  const line = (each: readonly string[]) =>
    each
      .map((cell, at) => (at === 0 || at > 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  const notes = outcomes.flatMap(({ row, measured }) =>
    (measured.notes ?? []).map((note) => `  ${row.name}: ${note}`),
  );
  return [line(head), ...cells.map(line), "", ...notes, `  ${surroundings()}`].join("\n");
}

export function asJson(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ row, measured }) => ({
    name: row.name,
    lines: measured.lines.map((line) => ({
      ...line,
      ratio: ratioOf(line),
      goal: goalText(line),
      met: isMet(line),
    })),
    notes: measured.notes ?? [],
  }));
  return JSON.stringify({ loadAverage: loadavg(), rows }, null, 2);
}

function cellsOf(line: Line): string[] {
  const ratio = ratioOf(line);
  const met = isMet(line);
  return [
    line.what,
    figure(line.ours, line.unit),
    line.floor === null ? "–" : figure(line.floor, line.unit),
    ratio === null ? "–" : `${ratio.toFixed(2)} ×`,
    goalText(line),
    met === null ? "" : met ? "yes" : "NO",
  ];
}

function figure(value: number, unit: string): string {
  const digits = value !== 0 && Math.abs(value) < 10 && unit !== "requests" ? 2 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

function surroundings(): string {
  const [one = 0, five = 0] = loadavg();
  return `Load average of this machine at the end: ${one.toFixed(1)} (1 min), ${five.toFixed(1)} (5 min).`;
}
