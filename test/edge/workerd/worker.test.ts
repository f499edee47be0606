/** The worker itself: before it is set up, under a flood, and whose address counts. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { edgeUnderTest, onNode, seedToken } from "../edge-under-test.ts";

describe.skipIf(onNode)("the worker", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database.close());

  test("answers 503 to everything while a setting is missing, and says no more", async () => {
    const answer = await fetch(`${inject("workerd")?.url}/api/system/health`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ code: "not_ready", error: expect.not.stringContaining("SLIPWAY") });
  });

  test("stops a flood at its shield, at twice the exact figure", async () => {
    const edge = edgeUnderTest(database.db);
    const knock = () => edge.send("/api/webhooks/nobody", { method: "POST", body: "" });
    const statuses: number[] = [];
    // The shield's windows turn with the minute of the wall clock; a flood across the turn would be let through twice.
    await expect.poll(() => Date.now() % 60_000, { timeout: 20_000 }).toBeLessThan(45_000);
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 120 }, knock));
      statuses.push(...answers.map(({ status }) => status));
      // Another window of the exact count, within one of the shield's.
      await edge.clock.advance(60_000);
    }
    expect(statuses.filter((status) => status === 404)).toHaveLength(2 * limits.webhookPerMinute);
    expect(statuses.filter((status) => status === 429)).toHaveLength(limits.webhookPerMinute);
  }, 40_000);

  test("is built for deployment with its shield, small enough, and with nothing of Node's in it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "slipway-worker-"));
    const argv = ["wrangler", "deploy", "-c", "edge/wrangler.jsonc", "--dry-run", "--outdir", folder];
    const cwd = new URL("../../..", import.meta.url).pathname;
    const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true", NO_COLOR: "1" };
    const { stdout } = await promisify(execFile)("npx", argv, { cwd, env, timeout: 60_000 });
    expect(stdout).toMatch(/env\.SHIELD \(240 requests\/60s\)/);
    const script = await readFile(join(folder, "worker.js"));
    expect(script.toString()).not.toMatch(/(from|import|require)\s*\(?\s*["']node:/);
    // The smallest plan takes 3 MB.
    expect(gzipSync(script).length).toBeLessThan(1_000_000);
    await rm(folder, { recursive: true });
  });

  test("does not believe an address that the caller writes", async () => {
    const edge = edgeUnderTest(database.db);
    const { token } = await seedToken(database.db, await seedOrganization(database.db));
    const headers = { "x-forwarded-for": "203.0.113.9", "x-real-ip": "203.0.113.9" };
    await edge.send("/api/projects", { token, from: "198.51.100.7", headers });
    expect(edge.reached[0]?.identity?.sourceIp).toBe("198.51.100.7");
  });
});
