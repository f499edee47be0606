/**
 * Keeps the database's log file below a bound: beyond it, the file becomes `.1` by copy and is emptied in place, since
 * the running database holds it open for appending. Rejected: Postgres's own collector, one more process for little.
 */
import { copyFile, stat, truncate } from "node:fs/promises";

const logBytesMost = 5 * 1024 * 1024;

export async function boundLog(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || found.size < logBytesMost) return;
  await copyFile(file, `${file}.1`);
  await truncate(file, 0);
}
