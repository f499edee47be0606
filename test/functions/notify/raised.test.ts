/** Who raises what: the outbox after the real operations. Successful deployments are in the lab's test. */
import { desc, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOfflineToken } from "../../../functions/platform/offline-token.ts";
import type { Database } from "../../../shared/db/database.ts";
import { alerts } from "../../../shared/db/notification-tables.ts";
import { openBrowser, password } from "../../contract/browser.ts";
import { openWholeApi } from "../../contract/whole-api.ts";
import { openDeployPlatform } from "../deploy/deploy-platform.ts";

async function raisedIn(db: Database, organizationId: string) {
  const rows = await db
    .select()
    .from(alerts)
    .where(eq(alerts.organizationId, organizationId))
    .orderBy(desc(alerts.id));
  return rows.map(({ category, title, resourceType, resourceId }) => ({
    ...{ category, title, resource: `${resourceType} ${resourceId}` },
  }));
}

describe("a deployment", () => {
  let platform: Awaited<ReturnType<typeof openDeployPlatform>>;
  beforeAll(async () => {
    platform = await openDeployPlatform();
  });
  afterAll(() => platform.close());

  it("raises deploy.failed with its end, deploy.cancelled when a person ends it, nothing when it is replaced", async () => {
    const acme = await platform.organization();
    const serverId = await platform.addServer(acme);
    const projectId = await platform.addProject(acme, serverId, { name: "Shop" });
    const deploy = async () => (await acme.call("POST", "/api/deployments", { projectId })).body.data.id;
    const cancelled = await deploy();
    await acme.call("POST", `/api/deployments/${cancelled}/cancel`);
    expect(await raisedIn(platform.db, acme.organizationId)).toEqual([
      {
        category: "deploy.cancelled",
        title: "Deploying Shop was cancelled",
        resource: `deployment ${cancelled}`,
      },
    ]);
    await deploy();
    const last = await deploy();
    platform.startRunner();
    expect(await platform.feed.settled(last, AbortSignal.timeout(25_000))).toBe(true);
    const raised = await raisedIn(platform.db, acme.organizationId);
    expect(raised.map(({ category }) => category)).toEqual(["deploy.failed", "deploy.cancelled"]);
    expect(raised[0]).toMatchObject({ title: "Deploying Shop failed", resource: `deployment ${last}` });
  }, 40_000);
});

describe("people and tokens", () => {
  let api: Awaited<ReturnType<typeof openWholeApi>>;
  beforeAll(async () => {
    api = await openWholeApi();
  });
  afterAll(() => api.close());

  it("raise member.added, member.removed and token.created, and a new member has a feed", async () => {
    const ada = openBrowser(api);
    const made = await ada.call("POST", "/api/auth/setup", {
      ...{
        code: api.setUpCode.current(),
        organization: "Acme",
        name: "Ada",
        email: "ada@acme.test",
        password,
      },
    });
    const { organizationId } = {
      organizationId: made.body.data.organizationId ?? made.body.data.organization?.id,
    };
    const raised = async () => (await raisedIn(api.db, organizationId)).map(({ category }) => category);
    expect(await raised()).toEqual([]);
    const invited = await ada.call("POST", "/api/members", { email: "ben@acme.test", role: "viewer" });
    const ben = openBrowser(api);
    const token = new URL(invited.body.data.url).hash.slice(1);
    const accepted = await ben.call("POST", "/api/auth/accept-invitation", { token, name: "Ben", password });
    expect(accepted.status).toBe(200);
    await ada.call("POST", "/api/tokens", { name: "ci" });
    await createOfflineToken(api.db, { name: "from the console", organizationId }, Date.now());
    await api.notifications.pass();
    const feed = async (browser: typeof ben) =>
      (await browser.call("GET", "/api/notifications/deliveries")).body.data.map(
        (one: { title: string }) => one.title,
      );
    expect(await feed(ben)).toEqual(["ben@acme.test joined the organization"]);
    expect(await feed(ada)).toEqual([
      "An access token was made: from the console",
      "An access token was made: ci",
      "ben@acme.test joined the organization",
    ]);
    const { data: members } = (await ada.call("GET", "/api/members")).body;
    const { userId } = members.find((one: { email: string }) => one.email === "ben@acme.test");
    expect((await ada.call("DELETE", `/api/members/${userId}`)).status).toBe(200);
    expect(await raised()).toEqual(["member.removed", "token.created", "token.created", "member.added"]);
  });
});
