/** Medians and percentiles of measured values: nearest rank, so that every answer is a value that was measured. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length);
  const found = sorted[Math.max(0, rank - 1)];
  if (found === undefined) throw new Error("There is no percentile of nothing.");
  return found;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}
