import { argon2Sync } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { initOrganization } from "../../../functions/platform/first-organization.ts";
import { createOfflineToken } from "../../../functions/platform/offline-token.ts";
import { hashToken } from "../../../shared/crypto/token.ts";
import { memberships, organizations, tokens, users } from "../../../shared/db/identity-tables.ts";
import { openTestDatabase, type TestDatabase } from "../../database.ts";

let test: TestDatabase;
beforeEach(async () => {
  test = await openTestDatabase();
});
afterEach(() => test.close());

const wanted = { organization: "Acme", email: "Ada@Example.com", password: "correct horse" };

it("makes organization, owner and an unlimited token, with the password as argon2id", async () => {
  const made = await initOrganization(test.db, wanted);
  const [user] = await test.db.select().from(users);
  expect(user).toMatchObject({ id: made.userId, email: "ada@example.com" });
  expect(user?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const [salt = "", tag = ""] = user?.passwordHash?.split("$").slice(-2) ?? [];
  const options = {
    message: "correct horse",
    nonce: Buffer.from(salt, "base64"),
    parallelism: 1,
    tagLength: 32,
  };
  const derived = argon2Sync("argon2id", { ...options, memory: 19_456, passes: 2 });
  expect(derived.equals(Buffer.from(tag, "base64"))).toBe(true);
  const [membership] = await test.db.select().from(memberships);
  expect(membership).toMatchObject({ organizationId: made.organizationId, role: "owner" });
  const [token] = await test.db
    .select()
    .from(tokens)
    .where(eq(tokens.hash, await hashToken(made.token)));
  expect(token).toMatchObject({ permissions: null, projectIds: null, expiresAt: null });
});

it("changes nothing on an instance that has an organization, also when two are made at once", async () => {
  const answers = await Promise.allSettled([
    initOrganization(test.db, wanted),
    initOrganization(test.db, { ...wanted, email: "eve@example.com" }),
  ]);
  expect(answers.map((answer) => answer.status).sort()).toEqual(["fulfilled", "rejected"]);
  await expect(initOrganization(test.db, wanted)).rejects.toMatchObject({ code: "already_initialized" });
  expect(await test.db.$count(organizations)).toBe(1);
  expect(await test.db.$count(users)).toBe(1);
});

it("names what is wrong", async () => {
  for (const [change, path] of [
    [{ organization: " " }, "organization"],
    [{ organization: "a\nb" }, "organization"],
    [{ email: "nobody" }, "email"],
    [{ email: "a b@c" }, "email"],
    [{ password: "short" }, "password"],
  ] as const) {
    const refused = initOrganization(test.db, { ...wanted, ...change });
    await expect(refused).rejects.toMatchObject({ details: [{ path }] });
  }
});

it("makes tokens of the primary owner, narrowed to what exists", async () => {
  await expect(createOfflineToken(test.db, { name: "x" }, Date.now())).rejects.toMatchObject({
    code: "not_initialized",
  });
  const { userId } = await initOrganization(test.db, wanted);
  const made = await createOfflineToken(
    test.db,
    { name: "ci", permissions: ["deployment:write"], expiresInDays: 1 },
    0,
  );
  const [row] = await test.db.select().from(tokens).where(eq(tokens.id, made.id));
  expect(row).toMatchObject({ userId, permissions: ["deployment:write"], expiresAt: new Date(86_400_000) });
  for (const wrong of [
    { permissions: ["root"] },
    { projectIds: ["prj_none"] },
    { serverIds: ["srv_none"] },
  ]) {
    await expect(createOfflineToken(test.db, { name: "x", ...wrong }, 0)).rejects.toMatchObject({
      kind: "validation",
    });
  }
});
