/**
 * One storm: a git host delivers while parts of the platform are killed, one blow after another, each when so much of
 * the load is through. A blow returns when what it killed was started again; nobody waits for it to be ready.
 */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../shared/db/database.ts";
import { makeDeliveries, type Random, startGitHost } from "./git-host.ts";
import { type Judged, judge } from "./judge.ts";
import type { Repository } from "./repositories.ts";

/** What is under the storm. */
export interface Shape {
  url(): string;
  sourceHeader: "x-forwarded-for" | "cf-connecting-ip";
  repositories: readonly Repository[];
  blows: Readonly<Record<string, () => Promise<void>>>;
  /** Of the judge. */
  db(): Promise<{ db: Database; close(): Promise<void> }>;
  /** Its logs, for a red run. */
  output(): string;
  close(): Promise<void>;
}

export interface StormOptions {
  deliveries: number;
  connections: number;
  /** In this order. */
  blows: readonly string[];
  seed: number;
  withinMs: number;
}

export interface Storm extends Judged {
  /** What the git host saw. */
  outcomes: Record<string, number>;
  seconds: number;
}

export async function storm(shape: Shape, options: StormOptions): Promise<Storm> {
  const { connections, withinMs, blows } = options;
  const startedMs = performance.now();
  const random = seeded(options.seed);
  const deliveries = makeDeliveries(shape.repositories, options.deliveries, random);
  const { url, sourceHeader } = shape;
  const host = startGitHost({ deliveries, url, sourceHeader, connections, random, withinMs });
  const progress = () => host.accepted.size / deliveries.length;
  const { db, close } = await shape.db();
  try {
    await Promise.all([host.done, strike(shape, blows, progress, withinMs)]);
    const judged = await judge(db, deliveries);
    if (judged.breaches.length > 0) await keepLog(shape);
    const outcomes = Object.fromEntries([...host.outcomes].sort());
    return { ...judged, outcomes, seconds: Math.round((performance.now() - startedMs) / 1_000) };
  } catch (cause) {
    const seen = `${host.accepted.size} of ${deliveries.length} were accepted: ${JSON.stringify([...host.outcomes])}`;
    throw new Error(`${seen}. The log: ${await keepLog(shape)}`, { cause });
  } finally {
    await close();
  }
}

async function keepLog(shape: Shape): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "slipway-storm-")), "platform.log");
  await writeFile(file, shape.output());
  console.log(`The log of the storm: ${file}`);
  return file;
}

async function strike(
  shape: Shape,
  blows: readonly string[],
  progress: () => number,
  withinMs: number,
): Promise<void> {
  const endMs = Date.now() + withinMs;
  for (const [index, name] of blows.entries()) {
    while (progress() < (index + 1) / (blows.length + 1)) {
      if (Date.now() > endMs) throw new Error(`The load never came as far as the blow "${name}".`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await shape.blows[name]?.();
  }
}

/** mulberry32: small, and good enough to be anything but regular. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
