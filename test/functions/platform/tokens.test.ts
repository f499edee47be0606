import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashToken, isToken } from "../../../shared/crypto/token.ts";
import { tokens } from "../../../shared/db/identity-tables.ts";
import { addProject, addServer, type Organization, openTestPlatform, type TestPlatform } from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
});

describe("minting a token", () => {
  it("answers the secret once and stores its hash only", async () => {
    const { status, body } = await acme.call("POST", "/api/tokens", { name: "ci" });
    expect([status, isToken(body.data.token), body.data.permissions]).toEqual([201, true, null]);
    const [row] = await platform.db.select().from(tokens).where(eq(tokens.id, body.data.id));
    expect(row?.hash).toBe(await hashToken(body.data.token));
    const list = await acme.call("GET", "/api/tokens");
    expect(JSON.stringify(list.body)).not.toContain(body.data.token.slice(4, 20));
    expect(list.body.data[0]).not.toHaveProperty("hash");
  });

  it("hands on no tag that its maker does not hold", async () => {
    const narrow = await acme.with({ permissions: ["token:write", "project:write"] });
    const beyond = await narrow("POST", "/api/tokens", { name: "x", permissions: ["project:admin"] });
    expect([beyond.status, beyond.body.code]).toEqual([403, "exceeds_maker"]);
    const within = await narrow("POST", "/api/tokens", { name: "x", permissions: ["project:read"] });
    expect(within.body.data.permissions).toEqual(["project:read"]);
    const unsaid = await narrow("POST", "/api/tokens", { name: "x" });
    expect(unsaid.body.data.permissions).toEqual(["token:write", "project:write"]);
    const member = await acme.with({ role: "member" });
    expect((await member("POST", "/api/tokens", { name: "x", permissions: ["server:admin"] })).status).toBe(
      403,
    );
  });

  it("hands on no project or server beyond its maker's", async () => {
    const serverId = await addServer(acme.call);
    const [own, other] = [await addProject(acme.call, serverId), await addProject(acme.call, serverId)];
    const narrow = await acme.with({ projectIds: [own] });
    expect((await narrow("POST", "/api/tokens", { name: "x", projectIds: [other] })).status).toBe(404);
    expect((await narrow("POST", "/api/tokens", { name: "x" })).body.data.projectIds).toEqual([own]);
    const foreign = await addServer((await platform.organization()).call);
    expect((await acme.call("POST", "/api/tokens", { name: "x", serverIds: [foreign] })).status).toBe(404);
  });

  it("does not outlive its maker", async () => {
    const soon = new Date(Date.now() + 2 * 86_400_000);
    const short = await acme.with({ expiresAt: soon });
    expect((await short("POST", "/api/tokens", { name: "x", expiresInDays: 3 })).body.code).toBe(
      "exceeds_maker",
    );
    expect((await short("POST", "/api/tokens", { name: "x", expiresInDays: 1 })).status).toBe(201);
    expect((await short("POST", "/api/tokens", { name: "x" })).body.data.expiresAt).toBe(soon.toISOString());
  });

  it("names every wrong field", async () => {
    for (const [change, path] of [
      [{ name: "" }, "body.name"],
      [{ permissions: ["root"] }, "body.permissions.0"],
      [{ permissions: [] }, "body.permissions"],
      [{ expiresInDays: 0 }, "body.expiresInDays"],
      [{ projectIds: [7] }, "body.projectIds.0"],
    ] as const) {
      const { status, body } = await acme.call("POST", "/api/tokens", { name: "x", ...change });
      expect([status, body.details[0].path]).toEqual([400, path]);
    }
  });
});

describe("revoking a token", () => {
  it("works at once, also for the one that does it", async () => {
    const { body } = await acme.call("POST", "/api/tokens", { name: "x" });
    expect((await acme.call("DELETE", `/api/tokens/${body.data.id}`)).body).toEqual({ success: true });
    expect((await acme.call("DELETE", `/api/tokens/${body.data.id}`)).status).toBe(404);
    const member = await acme.with({ role: "admin" });
    const own = (await member("GET", "/api/tokens")).body.data.find(
      (token: { name: string }) => token.name === "test",
    );
    await member("DELETE", `/api/tokens/${own.id}`);
    expect((await member("GET", "/api/tokens")).status).toBe(401);
  });

  it("is for the own ones, and with token:admin for all of the organization", async () => {
    const member = await acme.with({ role: "member" });
    const mine = (await member("POST", "/api/tokens", { name: "mine" })).body.data.id;
    const owners = (await acme.call("POST", "/api/tokens", { name: "owners" })).body.data.id;
    expect((await member("DELETE", `/api/tokens/${owners}`)).status).toBe(404);
    const shown = (await member("GET", "/api/tokens")).body.data.map((token: { name: string }) => token.name);
    expect(shown).toEqual(["mine", "test"]);
    expect((await acme.call("DELETE", `/api/tokens/${mine}`)).status).toBe(200);
    const foreign = (await (await platform.organization()).call("POST", "/api/tokens", { name: "x" })).body
      .data.id;
    expect((await acme.call("DELETE", `/api/tokens/${foreign}`)).status).toBe(404);
  });
});

describe("organization and audit", () => {
  it("shows the one organization of the token, with the role", async () => {
    const { body } = await acme.call("GET", "/api/organizations");
    expect(body).toMatchObject({
      data: [{ id: acme.organizationId, name: "Acme", role: "owner" }],
      nextCursor: null,
    });
  });

  it("keeps who did what from where, pages it, and shows no other organization's", async () => {
    await addServer(acme.call);
    await addServer(acme.call);
    await addServer((await platform.organization()).call);
    const first = (await acme.call("GET", "/api/audit?limit=1")).body;
    expect(first.data[0]).toMatchObject({
      action: "server.created",
      userId: acme.userId,
      sourceIp: "192.0.2.7",
    });
    const second = (await acme.call("GET", `/api/audit?limit=5&cursor=${first.nextCursor}`)).body;
    expect([second.data.length, second.nextCursor]).toEqual([1, null]);
    expect((await acme.call("GET", "/api/audit?limit=0")).body.details[0].path).toBe("query.limit");
    expect((await acme.call("GET", "/api/audit?limit=201")).status).toBe(400);
  });
});
