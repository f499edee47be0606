/** Lays out rows for people: aligned columns without frames, so that a line can be cut with ordinary tools. */
import { displayWidth, plainText } from "./text.ts";

/** `columns` are the headings; a row shorter than them is filled up with empty cells. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [columns, ...rows].map((row) => columns.map((_, index) => plainText(row[index] ?? "")));
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => displayWidth(row[index] ?? ""))));
  return cells
    .map((row) =>
      row
        .map((cell, index) => pad(cell, widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** One thing, a line a field. Fields without a value are left out. */
export function fields(
  entries: readonly (readonly [label: string, value: string | null | undefined])[],
): string {
  const shown = entries.flatMap(([label, value]) => (value ? [[label, plainText(value)] as const] : []));
  const width = Math.max(0, ...shown.map(([label]) => label.length));
  return shown.map(([label, value]) => `${label.padEnd(width)}  ${value}`).join("\n");
}

function pad(cell: string, width: number): string {
  return cell + " ".repeat(width - displayWidth(cell));
}
