/** Times for people; JSON always carries the ISO form that the API gave. */

/** "3 min ago"; a dash for a time that is not there. */
export function ago(iso: string | null, nowMs: number): string {
  if (iso === null) return "-";
  const seconds = Math.round((nowMs - Date.parse(iso)) / 1000);
  if (Number.isNaN(seconds)) return "-";
  if (seconds < 0) return `in ${length(-seconds)}`;
  return seconds < 5 ? "just now" : `${length(seconds)} ago`;
}

/** "840 ms", "12.3 s", "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/** "30m", "24h", "7d"; undefined for what is no span. */
export function spanMs(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  return count === undefined ? undefined : Number(count) * (units[unit] ?? Number.NaN);
}

function length(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}
