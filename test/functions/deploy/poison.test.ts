/** A message that no consumer can handle: the row is the authority, so that its deployment ends all the same. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgBossQueue } from "../../../shared/adapters/pg-boss-queue.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { silentLog } from "../../silent-log.ts";
import { type DeployPlatform, openDeployPlatform } from "./deploy-platform.ts";

let platform: DeployPlatform;
beforeAll(async () => {
  platform = await openDeployPlatform();
});
afterAll(() => platform.close());

test("the deployment behind a message that was given up does not hang: it ends, with a reason", async () => {
  const organization = await platform.organization();
  const projectId = await platform.addProject(organization, await platform.addServer(organization));
  const { body } = await organization.call("POST", "/api/deployments", { projectId });
  const { id } = body.data;
  const url = platform.database.url;
  const queue = await createPgBossQueue({ url, log: silentLog, pollSeconds: 0.5, retrySeconds: 0 });
  const poisoned = async () => {
    throw new Error("poison");
  };
  const ending = new AbortController();
  await queue.consume("deploy", poisoned, { concurrency: 1, signal: ending.signal });
  await queue.send("deploy", { operationId: id }, { group: projectId, dedupe: id });
  const buried = async () =>
    (await rowsOf(platform.db, sql`select id from pgboss.job where name = 'deploy_dead'`)).length;
  await expect.poll(buried, { timeout: 30_000 }).toBe(1);
  // Asked only now: the answer is kept for a minute.
  expect(await queue.countDead("deploy")).toBe(1);
  const show = async () => (await organization.call("GET", `/api/deployments/${id}`)).body.data;
  expect(await show()).toMatchObject({ status: "queued" });

  platform.startRunner();
  await expect.poll(async () => (await show()).status, { timeout: 30_000 }).toBe("failed");
  expect((await show()).error).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  ending.abort();
  await queue.close();
});
