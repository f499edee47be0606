/** Setting up, signing in and sessions, through the real edge and modules (decisions.md section 2). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { auditEntries, sessions, users } from "../../shared/db/identity-tables.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { openBrowser, password } from "./browser.ts";
import { openWholeApi } from "./whole-api.ts";

type Api = Awaited<ReturnType<typeof openWholeApi>>;

const ada = { organization: "Acme", name: "Ada", email: "Ada@Acme.test", password };

/** Tries are counted in a minute: each test has its own. */
let minute = 0;
const limiter = createMemoryLimiter(() => minute * 60_000);
beforeEach(() => {
  minute += 1;
});

/** And an address of its own: they are counted by source. */
let addresses = 0;
const address = () => `198.51.100.${++addresses}`;

async function setUp(api: Api) {
  const browser = openBrowser(api, address());
  const made = await browser.call("POST", "/api/auth/setup", { ...ada, code: api.setUpCode.current() });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { browser, organizationId: made.body.data.organization.id, userId: made.body.data.user.id };
}

describe("the first set-up", () => {
  let api: Api;
  beforeAll(async () => {
    api = await openWholeApi({ limiter });
  });
  afterAll(() => api.close());

  test("needs the code; after five wrong ones there is another one", async () => {
    const browser = openBrowser(api, address());
    expect((await browser.call("GET", "/api/auth/setup")).body).toEqual({ data: { needed: true } });
    const first = api.setUpCode.current();
    for (let tries = 0; tries < 5; tries++) {
      const wrong = await browser.call("POST", "/api/auth/setup", { ...ada, code: "AAAA-AAAA-AAAA" });
      expect([wrong.status, wrong.body.code]).toEqual([403, "wrong_setup_code"]);
    }
    expect(api.announced).toEqual([api.setUpCode.current()]);
    const old = await browser.call("POST", "/api/auth/setup", { ...ada, code: first });
    expect([old.status, old.body.code]).toEqual([403, "wrong_setup_code"]);
  });

  test("makes organization, owner, token and session, once", async () => {
    const browser = openBrowser(api, address());
    const code = api.setUpCode.current().toLowerCase().replaceAll("-", " ");
    const { status, body } = await browser.call("POST", "/api/auth/setup", { ...ada, code });
    expect([status, body.data.organization.role, body.data.user.email]).toEqual([
      201,
      "owner",
      "ada@acme.test",
    ]);
    expect((await browser.call("GET", "/api/auth/session")).body.data.user.name).toBe("Ada");
    const byToken = await api.send("/api/projects", { token: body.data.token });
    expect(byToken.status).toBe(200);
    const again = await browser.call("POST", "/api/auth/setup", { ...ada, code });
    expect([again.status, again.body.code]).toEqual([409, "already_initialized"]);
    expect((await browser.call("GET", "/api/auth/setup")).body).toEqual({ data: { needed: false } });
  });
});

describe("a session", () => {
  let api: Api;
  let organizationId: string;
  let userId: string;
  const signedIn = async () => {
    const browser = openBrowser(api, address());
    expect((await browser.signIn(ada.email)).status).toBe(200);
    return browser;
  };

  beforeAll(async () => {
    api = await openWholeApi({ limiter });
    ({ organizationId, userId } = await setUp(api));
  });
  afterAll(() => api.close());

  test("begins with e-mail and password, in a cookie that scripts cannot read and of which a hash is kept", async () => {
    const browser = openBrowser(api, address());
    const { headers, body } = await browser.signIn(" ADA@acme.test ");
    const cookie = headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^slipway_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const secret = /=([\w-]{43});/.exec(cookie)?.[1] ?? "";
    expect(JSON.stringify(body)).not.toContain(secret);
    expect(JSON.stringify(await api.db.select().from(sessions))).not.toContain(secret);
  });

  test("on https has a Secure cookie that only this host can set", async () => {
    const https = await openWholeApi({ baseUrl: "https://slipway.test" });
    const browser = openBrowser(https, address());
    const code = https.setUpCode.current();
    const { headers } = await browser.call("POST", "/api/auth/setup", { ...ada, code });
    expect(headers.get("set-cookie")).toMatch(
      /^__Host-slipway_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect((await browser.call("GET", "/api/auth/session")).status).toBe(200);
    await https.close();
  });

  test("is refused with the same answer for a wrong password and an account that nobody has", async () => {
    const browser = openBrowser(api, address());
    const wrong = await browser.signIn(ada.email, "wrong password");
    const unknown = await browser.signIn("nobody@acme.test", "wrong password");
    expect([wrong.status, wrong.body]).toEqual([401, unknown.body]);
    expect([unknown.status, unknown.body.code]).toEqual([401, "wrong_credentials"]);
    expect([...wrong.headers.keys()]).toEqual([...unknown.headers.keys()]);
  });

  test("that is refused for a wrong password stands in the audit, with the address and nobody's name", async () => {
    const from = address();
    await openBrowser(api, from).signIn(ada.email, "wrong password");
    const refused = () => api.db.select().from(auditEntries).where(eq(auditEntries.sourceIp, from));
    await expect
      .poll(refused, { timeout: 10_000 })
      .toMatchObject([
        { action: "session.refused", resourceId: userId, organizationId, userId: null, credentialId: null },
      ]);
  });

  test("takes the same work to refuse, whether the account exists or not", async () => {
    const timed = async (email: string) => {
      const browser = openBrowser(api, address());
      const times: number[] = [];
      for (let round = 0; round < 7; round++) {
        const startMs = performance.now();
        await browser.signIn(email, "wrong password");
        times.push(performance.now() - startMs);
      }
      return times.sort((a, b) => a - b)[0] ?? 0;
    };
    await openBrowser(api, address()).signIn("warm@acme.test");
    const [known, unknown] = [await timed(ada.email), await timed("nobody-else@acme.test")];
    // Without the same hashing an unknown account would be answered many times faster.
    expect(unknown).toBeGreaterThan(known / 3);
    expect(known).toBeGreaterThan(unknown / 3);
  });

  test("is not one that was planted before: signing in makes a new one", async () => {
    const attacker = await signedIn();
    const planted = attacker.cookie() ?? "";
    const victim = openBrowser(api, address());
    victim.plant(planted);
    await victim.signIn(ada.email);
    expect(victim.cookie()).not.toBe(planted);
    victim.plant(`slipway_session=${"A".repeat(43)}`);
    await victim.signIn(ada.email);
    expect(victim.cookie()).not.toContain("AAAAAAAA");
  });

  test("ends with signing out, for whoever has a copy of the cookie too", async () => {
    const browser = await signedIn();
    const copy = openBrowser(api, address());
    copy.plant(browser.cookie() ?? "");
    const out = await browser.call("POST", "/api/auth/sign-out");
    expect([out.status, out.body]).toEqual([200, { success: true }]);
    expect(browser.cookie()).toBeNull();
    expect((await copy.call("GET", "/api/auth/session")).status).toBe(401);
    const gone = await copy.call("GET", "/api/auth/session");
    expect(gone.headers.get("set-cookie")).toContain("slipway_session=; Path=/; Max-Age=0");
  });

  test("slides: its end moves on with its use, and without use it is over", async () => {
    const browser = await signedIn();
    const mine = async () =>
      (await api.db.select().from(sessions).where(eq(sessions.userId, userId))).sort((a, b) =>
        a.id < b.id ? 1 : -1,
      )[0];
    const row = await mine();
    const soon = new Date(Date.now() + 5_000);
    await api.db
      .update(sessions)
      .set({ expiresAt: soon })
      .where(eq(sessions.id, row?.id ?? ""));
    const used = await browser.call("GET", "/api/projects");
    expect([used.status, used.headers.get("set-cookie")]).toEqual([200, expect.stringContaining("Max-Age")]);
    await expect
      .poll(async () => (await mine())?.expiresAt.getTime())
      .toBeGreaterThan(Date.now() + 29 * 86_400_000);
    const past = new Date(Date.now() - 1_000);
    await api.db
      .update(sessions)
      .set({ expiresAt: past })
      .where(eq(sessions.id, row?.id ?? ""));
    expect((await browser.call("GET", "/api/projects")).status).toBe(401);
  });

  test("is no way in for another site: unsafe methods need the platform's own origin", async () => {
    const browser = await signedIn();
    const rename = (headers: Record<string, string>) =>
      browser.call("PATCH", `/api/organizations/${organizationId}`, { name: "Acme" }, headers);
    for (const foreign of [
      {},
      { origin: "https://evil.test" },
      { origin: "null" },
      { origin: "http://edge.test.evil.test" },
      { origin: "http://edge.test:8080" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: "http://edge.test" },
      { "sec-fetch-site": "none" },
    ]) {
      const refused = await rename(foreign);
      expect([foreign, refused.status, refused.body.code]).toEqual([foreign, 403, "cross_site"]);
    }
    expect((await rename({ origin: "http://edge.test" })).status).toBe(200);
    expect((await rename({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await browser.call("GET", "/api/projects", undefined, {})).status).toBe(200);
  });

  test("cannot be begun by another site either, but by a program that says nothing", async () => {
    const given = { email: ada.email, password };
    const browser = openBrowser(api, address());
    const foreign = await browser.call("POST", "/api/auth/sign-in", given, { origin: "https://evil.test" });
    expect([foreign.status, foreign.body.code]).toEqual([403, "cross_site"]);
    expect((await browser.call("POST", "/api/auth/sign-in", given, {})).status).toBe(200);
  });

  test("is not what an access token is: people's routes need one", async () => {
    const { token } = await seedToken(api.db, { organizationId, userId });
    const answer = await api.send("/api/auth/session", { token });
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: "session_needed" }]);
  });

  test("may be tried 10 times a minute from one source, and 10 times for one account", async () => {
    const source = openBrowser(api, address());
    for (let tries = 0; tries < 10; tries++) await source.signIn(`someone-${tries}@acme.test`);
    const refused = await source.signIn(ada.email);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, expect.any(String)]);
    const email = "often@acme.test";
    for (let tries = 0; tries < 10; tries++) await openBrowser(api, address()).signIn(email);
    expect((await openBrowser(api, address()).signIn(email)).status).toBe(429);
    expect((await openBrowser(api, address()).signIn("seldom@acme.test")).status).toBe(401);
  });

  test("is written to the audit, begun and ended, with where it came from", async () => {
    const browser = await signedIn();
    await browser.call("POST", "/api/auth/sign-out");
    const entries = await api.db.select().from(auditEntries).where(eq(auditEntries.userId, userId));
    const last = entries.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(-2);
    expect(last).toMatchObject([
      { action: "session.opened", sourceIp: `198.51.100.${addresses}` },
      { action: "session.ended", sourceIp: `198.51.100.${addresses}` },
    ]);
  });
});

test("a new password ends every session, and the one that asked goes on under another cookie", async () => {
  const api = await openWholeApi({ limiter });
  const { browser } = await setUp(api);
  const other = openBrowser(api, address());
  await other.signIn(ada.email);
  const before = browser.cookie() ?? "";
  const change = (currentPassword: string, newPassword: string) =>
    browser.call("POST", "/api/auth/password", { currentPassword, newPassword });
  expect((await change("wrong password", "another password")).body.code).toBe("wrong_password");
  expect((await change(password, "short")).status).toBe(400);
  expect((await change(password, "another password")).status).toBe(200);
  expect((await other.call("GET", "/api/auth/session")).status).toBe(401);
  expect(browser.cookie()).not.toBe(before);
  expect((await browser.call("GET", "/api/auth/session")).status).toBe(200);
  const thief = openBrowser(api, address());
  thief.plant(before);
  expect((await thief.call("GET", "/api/auth/session")).status).toBe(401);
  expect((await openBrowser(api, address()).signIn(ada.email)).status).toBe(401);
  expect((await openBrowser(api, address()).signIn(ada.email, "another password")).status).toBe(200);
  expect(JSON.stringify(await api.db.select().from(users))).not.toContain("another password");
  await api.close();
});
