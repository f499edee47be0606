/** Members, roles and invitations, through the real edge and modules (decisions.md sections 2 and 3). */
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { auditEntries, invitations, memberships, organizations } from "../../shared/db/identity-tables.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Role } from "../../shared/domain/permission.ts";
import { seedOrganization } from "../database.ts";
import { seedSession, seedToken } from "../edge/edge-under-test.ts";
import { manualClock } from "../manual-clock.ts";
import { type Answer, openBrowser, password } from "./browser.ts";
import { openWholeApi, seedMember, seedProject, seedServer } from "./whole-api.ts";

let minute = 0;
const clock = manualClock(Date.now());
const api = await openWholeApi({ limiter: createMemoryLimiter(() => minute * 60_000), clock });
afterAll(() => api.close());

let owner: { organizationId: string; userId: string };
let asOwner: Caller;
beforeEach(async () => {
  minute += 1;
  owner = await seedOrganization(api.db);
  asOwner = await callerOf(owner.userId);
});

type Caller = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A person in a browser, signed in. */
async function callerOf(userId: string): Promise<Caller> {
  const session = await seedSession(api.db, userId);
  const browser = openBrowser(api);
  return (method, path, body, headers = {}) =>
    browser.call(method, path, body, { ...session.headers, ...headers });
}

async function member(role: Role) {
  const userId = await seedMember(api.db, owner.organizationId, role);
  return { userId, call: await callerOf(userId) };
}

const tokenOf = ({ url }: { url: string }) => url.split("#")[1];
const invite = (by: Caller, email: string, role: Role = "member") =>
  by("POST", "/api/members", { email, role });
const accept = (url: string, change: Record<string, unknown> = {}) =>
  openBrowser(api).call("POST", "/api/auth/accept-invitation", {
    token: tokenOf({ url }),
    name: "Cleo",
    password,
    ...change,
  });

describe("an invitation", () => {
  test("makes a member, once", async () => {
    const made = await invite(asOwner, "Cleo@Acme.test", "maintainer");
    expect([made.status, made.body.data.email]).toEqual([201, "cleo@acme.test"]);
    const { url } = made.body.data;
    expect(url).toMatch(/^http:\/\/edge\.test\/accept-invitation#[\w-]{43}$/);
    expect(JSON.stringify(await api.db.select().from(invitations))).not.toContain(tokenOf({ url }));
    const accepted = await accept(url);
    expect([accepted.status, accepted.body.data.organization]).toMatchObject([
      200,
      { id: owner.organizationId, role: "maintainer" },
    ]);
    const again = await accept(url);
    expect([again.status, again.body.code]).toEqual([404, "invitation_not_open"]);
    const listed = (await asOwner("GET", "/api/members")).body.data;
    expect(listed.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
      ["Cleo", "maintainer"],
      ["Ada", "owner"],
    ]);
    expect((await asOwner("GET", "/api/members/invitations")).body.data).toEqual([]);
  });

  test("that two accept at the same moment makes one member", async () => {
    const { url } = (await invite(asOwner, "twice@acme.test")).body.data;
    const answers = await Promise.all([accept(url), accept(url)]);
    expect(answers.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    expect(await api.db.$count(memberships, eq(memberships.organizationId, owner.organizationId))).toBe(2);
  });

  test("runs out, can be taken back, and gives way to a newer one of the same address", async () => {
    const late = (await invite(asOwner, "late@acme.test")).body.data;
    await api.db.update(invitations).set({ expiresAt: sql`now()` }).where(eq(invitations.id, late.id));
    const back = (await invite(asOwner, "back@acme.test")).body.data;
    expect((await asOwner("DELETE", `/api/members/invitations/${back.id}`)).status).toBe(200);
    const older = (await invite(asOwner, "newer@acme.test")).body.data;
    const newer = (await invite(asOwner, "newer@acme.test")).body.data;
    for (const { url } of [late, back, older]) expect((await accept(url)).status).toBe(404);
    expect((await accept(newer.url)).status).toBe(200);
    expect((await accept("x#made-up")).body.code).toBe("invitation_not_open");
  });

  test("of a person with an account needs that account's password, and changes it by no means", async () => {
    const email = `known-${minute}@acme.test`;
    expect((await accept((await invite(asOwner, email)).body.data.url)).status).toBe(200);
    const other = await seedOrganization(api.db);
    const { url } = (await invite(await callerOf(other.userId), email)).body.data;
    const stolen = await accept(url, { password: "an attacker's password" });
    expect([stolen.status, stolen.body.code]).toEqual([401, "wrong_credentials"]);
    expect((await accept(url)).body.data.organizations).toHaveLength(2);
    expect((await openBrowser(api).signIn(email)).status).toBe(200);
  });

  test("of a member is refused, and a new password must be long enough", async () => {
    const { url } = (await invite(asOwner, "short@acme.test")).body.data;
    const short = await accept(url, { password: "short" });
    expect([short.status, short.body.details[0].path]).toEqual([400, "body.password"]);
    await accept(url);
    expect((await invite(asOwner, "short@acme.test")).body.code).toBe("already_member");
  });

  test("ends with the rights of the person who invited", async () => {
    const admin = await member("admin");
    const { url } = (await invite(admin.call, "orphan@acme.test")).body.data;
    expect((await asOwner("PATCH", `/api/members/${admin.userId}`, { role: "viewer" })).status).toBe(200);
    expect((await accept(url)).body.code).toBe("invitation_not_open");
  });

  test("may be made 10 times a minute", async () => {
    for (let sent = 0; sent < 10; sent++) await invite(asOwner, `many-${sent}@acme.test`);
    expect((await invite(asOwner, "many@acme.test")).status).toBe(429);
  });
});

describe("roles", () => {
  test("an admin neither grants nor takes owner", async () => {
    const [admin, other] = [await member("admin"), await member("owner")];
    for (const refused of [
      await invite(admin.call, "boss@acme.test", "owner"),
      await admin.call("PATCH", `/api/members/${admin.userId}`, { role: "owner" }),
      await admin.call("PATCH", `/api/members/${other.userId}`, { role: "member" }),
      await admin.call("DELETE", `/api/members/${other.userId}`),
      await admin.call("POST", `/api/organizations/${owner.organizationId}/transfer`, {
        userId: other.userId,
      }),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([403, "owner_only"]);
    }
  });

  test.each(["maintainer", "member", "viewer"] as const)("a %s changes no member", async (role) => {
    const { call, userId } = await member(role);
    expect((await invite(call, "x@acme.test")).status).toBe(403);
    expect((await call("PATCH", `/api/members/${userId}`, { role: "admin" })).status).toBe(403);
    expect((await call("DELETE", `/api/members/${owner.userId}`)).status).toBe(403);
    expect((await call("GET", "/api/members")).status).toBe(200);
  });

  test("a token grants nothing beyond its own tags, and a narrowed one nothing at all", async () => {
    const send = async (limits: Parameters<typeof seedToken>[2], role: Role) => {
      const { token } = await seedToken(api.db, owner, limits);
      return openBrowser(api).call(
        "POST",
        "/api/members",
        { email: "by-token@acme.test", role },
        { authorization: `Bearer ${token}` },
      );
    };
    expect((await send({ permissions: ["organization:admin"] }, "viewer")).body.code).toBe(
      "exceeds_credential",
    );
    expect((await send({ permissions: ["organization:admin"] }, "owner")).body.code).toBe(
      "exceeds_credential",
    );
    expect((await send({ projectIds: ["prj_x"] }, "viewer")).body.code).toBe("narrowed_token");
    expect((await send({}, "admin")).status).toBe(201);
  });

  test("the last owner cannot go, nor the primary one before a transfer", async () => {
    for (const attempt of [
      await asOwner("DELETE", `/api/members/${owner.userId}`),
      await asOwner("PATCH", `/api/members/${owner.userId}`, { role: "admin" }),
    ]) {
      expect([attempt.status, attempt.body.code]).toEqual([409, "last_owner"]);
    }
    const second = await member("owner");
    const primary = await second.call("DELETE", `/api/members/${owner.userId}`);
    expect([primary.status, primary.body.code]).toEqual([409, "primary_owner"]);
    const to = (userId: string) =>
      asOwner("POST", `/api/organizations/${owner.organizationId}/transfer`, { userId });
    expect((await to((await member("admin")).userId)).body.code).toBe("not_an_owner");
    expect((await to(second.userId)).body.data.primaryOwnerId).toBe(second.userId);
    expect((await second.call("DELETE", `/api/members/${owner.userId}`)).status).toBe(200);
  });

  test("two owners who lower each other at the same moment leave one", async () => {
    const second = await member("owner");
    const third = await member("owner");
    await asOwner("POST", `/api/organizations/${owner.organizationId}/transfer`, { userId: third.userId });
    await third.call("PATCH", `/api/members/${owner.userId}`, { role: "viewer" });
    await Promise.all([
      second.call("DELETE", `/api/members/${third.userId}`),
      third.call("DELETE", `/api/members/${second.userId}`),
    ]);
    const { organizationId } = owner;
    const left = await api.db.$count(
      memberships,
      and(eq(memberships.organizationId, organizationId), eq(memberships.role, "owner")),
    );
    expect(left).toBe(1);
  });

  test("a lowered role and a removal count with the next request, for sessions and tokens", async () => {
    const { userId, call } = await member("admin");
    const { token } = await seedToken(api.db, { organizationId: owner.organizationId, userId });
    const byToken = async (method: string) =>
      (
        await openBrowser(api).call(method, "/api/tokens", method === "POST" ? { name: "x" } : undefined, {
          authorization: `Bearer ${token}`,
        })
      ).status;
    expect([(await call("POST", "/api/tokens", { name: "x" })).status, await byToken("POST")]).toEqual([
      201, 201,
    ]);
    await asOwner("PATCH", `/api/members/${userId}`, { role: "viewer" });
    expect([(await call("POST", "/api/tokens", { name: "x" })).status, await byToken("POST")]).toEqual([
      403, 403,
    ]);
    await asOwner("DELETE", `/api/members/${userId}`);
    expect([(await call("GET", "/api/tokens")).status, await byToken("GET")]).toEqual([401, 401]);
    await api.db.insert(memberships).values({ organizationId: owner.organizationId, userId, role: "viewer" });
    expect(await byToken("GET")).toBe(401);
  });
});

test("open streams of a person who was removed or lowered end with the next recheck", async () => {
  const { userId } = await member("member");
  const { organizationId } = owner;
  const { token } = await seedToken(api.db, { organizationId, userId });
  const { headers } = await seedSession(api.db, userId);
  const projectId = await seedProject(api.db, organizationId, (await seedServer(api, organizationId)).id);
  const made = await openBrowser(api).call(
    "POST",
    "/api/deployments",
    { projectId },
    { authorization: `Bearer ${token}` },
  );
  const path = `/api/deployments/${made.body.data.id}/stream`;
  const streams = await Promise.all([api.send(path, { token }), api.send(path, { headers })]);
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  const ended = Promise.all(streams.map((stream) => stream.text()));
  expect((await asOwner("DELETE", `/api/members/${userId}`)).status).toBe(200);
  await clock.advance(limits.streamRecheckMs);
  await ended;
});

describe("several organizations", () => {
  test("X-Organization-Id picks one of the person's, and no other's", async () => {
    const made = await asOwner("POST", "/api/organizations", { name: "Second" });
    expect([made.status, made.body.data.role]).toEqual([201, "owner"]);
    const second = made.body.data.id;
    const activeIn = async (id: string) =>
      (await asOwner("GET", "/api/auth/session", undefined, { "x-organization-id": id })).body.data
        ?.organization.id;
    expect(await activeIn(second)).toBe(second);
    expect(await activeIn(owner.organizationId)).toBe(owner.organizationId);
    expect((await asOwner("GET", "/api/organizations")).body.data).toHaveLength(2);
    const foreign = await seedOrganization(api.db);
    for (const id of [foreign.organizationId, "org_none"]) {
      const refused = await asOwner("GET", "/api/projects", undefined, { "x-organization-id": id });
      expect([refused.status, refused.body.code]).toEqual([404, "not_found"]);
    }
    const { token } = await seedToken(api.db, owner);
    const headers = { authorization: `Bearer ${token}`, "x-organization-id": second };
    expect((await openBrowser(api).call("GET", "/api/projects", undefined, headers)).status).toBe(404);
  });

  test("a narrowed token makes none, and a rename is written to the audit", async () => {
    const { token } = await seedToken(api.db, owner, { serverIds: ["srv_x"] });
    const headers = { authorization: `Bearer ${token}` };
    const refused = await openBrowser(api).call("POST", "/api/organizations", { name: "X" }, headers);
    expect([refused.status, refused.body.code]).toEqual([403, "narrowed_token"]);
    const path = `/api/organizations/${owner.organizationId}`;
    expect((await asOwner("PATCH", path, { name: "New name" })).body.data.name).toBe("New name");
    const [row] = await api.db.select().from(organizations).where(eq(organizations.id, owner.organizationId));
    expect(row?.name).toBe("New name");
    const entries = await api.db
      .select()
      .from(auditEntries)
      .where(eq(auditEntries.organizationId, owner.organizationId));
    expect(entries.map(({ action, fields }) => [action, fields])).toContainEqual([
      "organization.updated",
      ["name"],
    ]);
  });
});

test("a token made twice under one Idempotency-Key is one token, and its secret comes again", async () => {
  const make = () =>
    asOwner("POST", "/api/tokens", { name: "ci" }, { "idempotency-key": `key-${owner.userId}` });
  const [first, second] = await Promise.all([make(), make()]);
  expect([first.status, second.body]).toEqual([201, first.body]);
  expect((await asOwner("GET", "/api/tokens")).body.data).toHaveLength(1);
});
