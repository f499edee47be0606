/** Waits until a question has the wanted answer; unlike `expect.poll` also in the set-up of a file. */
import { expect, vi } from "vitest";

export async function until<T>(
  ask: () => T | Promise<T>,
  wanted: unknown,
  timeout: number,
  interval = 100,
): Promise<void> {
  await vi.waitFor(async () => expect(await ask()).toEqual(wanted), { timeout, interval });
}
