import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generateSshKey } from "../../../shared/adapters/ssh-key.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import { gitSecretPlace } from "../../../shared/domain/sealed-place.ts";
import {
  addProject,
  addServer,
  hostKey,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
});

const secret = "ghp_0123456789abWXYZ";
const base = { name: "git", baseUrl: "https://git.test", kind: "token", secret };
const deployKey = () => ({
  name: "key",
  baseUrl: "ssh://git@git.test:2222",
  kind: "deploy_key",
  secret: generateSshKey("t").privateKey,
  hostKey: hostKey(),
});

async function add(change: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await acme.call("POST", "/api/git-connections", { ...base, ...change });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data.id;
}

async function stored(id: string) {
  const [row] = await platform.db.select().from(gitConnections).where(eq(gitConnections.id, id));
  if (row === undefined) throw new Error("no such connection");
  return row;
}

const opened = async (id: string) => {
  const row = await stored(id);
  return platform.sealer.open("git", gitSecretPlace(row), row.sealedSecret);
};

const source = (connectionId: string, change: Record<string, unknown> = {}) => ({
  source: { kind: "git", owner: "acme", repo: "shop", connectionId, ...change },
});

describe("adding a git connection", () => {
  it("seals the token and answers its last four letters only", async () => {
    const { status, body } = await acme.call("POST", "/api/git-connections", {
      ...base,
      baseUrl: "https://GIT.test:443/",
    });
    expect(status).toBe(201);
    const { id, createdAt, ...shown } = body.data;
    expect(createdAt).toBeTruthy();
    expect(shown).toEqual({
      name: "git",
      provider: "git_host",
      baseUrl: "https://git.test",
      kind: "token",
      secret: { set: true, last4: "WXYZ" },
      hostKey: null,
    });
    expect((await stored(id)).sealedSecret).toMatch(/^sealed:v1:git:/);
    expect(await opened(id)).toBe(secret);
    const list = await acme.call("GET", "/api/git-connections");
    const one = await acme.call("GET", `/api/git-connections/${id}`);
    expect(list.body).toEqual({ data: [body.data], nextCursor: null });
    expect(one.body.data).toEqual(body.data);
    expect(JSON.stringify([body, list.body])).not.toMatch(/ghp_|sealed/);
  });

  it("takes a deploy key with the host key that goes with it", async () => {
    const wanted = deployKey();
    const { status, body } = await acme.call("POST", "/api/git-connections", wanted);
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ kind: "deploy_key", hostKey: wanted.hostKey });
    expect(body.data.secret.last4).toMatch(/^[A-Za-z0-9+/]{4}$/);
    expect(JSON.stringify(body)).not.toContain("PRIVATE");
    expect(await opened(body.data.id)).toBe(`${wanted.secret.trimEnd()}\n`);
  });

  it("names every wrong field", async () => {
    const key = deployKey();
    const cases: [Record<string, unknown>, string][] = [
      [{ baseUrl: "https://user:pass@git.test" }, "body.baseUrl"],
      [{ baseUrl: "https://git.test?x=1" }, "body.baseUrl"],
      [{ baseUrl: "https://git.test/a=b" }, "body.baseUrl"],
      [{ baseUrl: "file:///etc" }, "body.baseUrl"],
      [{ baseUrl: "ext::sh -c id" }, "body.baseUrl"],
      [{ baseUrl: "https://-oProxyCommand=id" }, "body.baseUrl"],
      [{ baseUrl: "ssh://git@git.test" }, "body.baseUrl"],
      [{ kind: "password" }, "body.kind"],
      [{ provider: "payments" }, "body.provider"],
      [{ secret: "two\nlines-of-it" }, "body.secret"],
      [{ secret: "has a space" }, "body.secret"],
      [{ secret: "sealed:v1:git:k:abc" }, "body.secret"],
      [{ hostKey: hostKey() }, "body.hostKey"],
      [{ ...key, hostKey: undefined }, "body.hostKey"],
      [{ ...key, hostKey: hostKey("ssh-rsa").replace("ssh-rsa", "ssh-ed25519") }, "body.hostKey"],
      [{ ...key, baseUrl: "https://git.test" }, "body.baseUrl"],
      [{ ...key, baseUrl: "ssh://-oProxyCommand@git.test" }, "body.baseUrl"],
      [{ ...key, secret: generateSshKey("t").publicKey }, "body.secret"],
      [{ extra: 1 }, "body.extra"],
    ];
    for (const [change, path] of cases) {
      const { status, body } = await acme.call("POST", "/api/git-connections", { ...base, ...change });
      expect([status, body.details?.[0].path], JSON.stringify(change)).toEqual([400, path]);
    }
  });

  it("is not for a narrowed token", async () => {
    const narrowed = await acme.with({ projectIds: [] });
    const { status, body } = await narrowed("POST", "/api/git-connections", base);
    expect([status, body.code]).toEqual([403, "narrowed_token"]);
  });
});

describe("changing a git connection", () => {
  it("asks for the secret again and for git_connection:admin when it would go to a new place", async () => {
    const id = await add();
    const path = `/api/git-connections/${id}`;
    const member = await acme.with({ role: "member" });
    const moved = { baseUrl: "https://other.test" };
    expect((await member("PATCH", path, { ...moved, secret })).status).toBe(403);
    const without = await acme.call("PATCH", path, moved);
    expect([without.status, without.body.code]).toEqual([400, "credential_required"]);
    expect((await stored(id)).baseUrl).toBe("https://git.test");
    const done = await acme.call("PATCH", path, { ...moved, secret: "another-token-1234" });
    expect(done.body.data).toMatchObject({ ...moved, secret: { set: true, last4: "1234" } });
    expect(await opened(id)).toBe("another-token-1234");
  });

  it("asks for the key again when the host key changes", async () => {
    const key = deployKey();
    const id = await add(key);
    const path = `/api/git-connections/${id}`;
    const changed = { hostKey: hostKey() };
    expect((await acme.call("PATCH", path, changed)).body.code).toBe("credential_required");
    const done = await acme.call("PATCH", path, { ...changed, secret: key.secret });
    expect(done.body.data).toMatchObject(changed);
  });

  it("takes a name, a fresh secret or the same address from a member, and audits the fields", async () => {
    const id = await add();
    const member = await acme.with({ role: "member" });
    const change = { name: "new", secret: "another-token-1234", baseUrl: "https://git.test/" };
    const { status } = await member("PATCH", `/api/git-connections/${id}`, change);
    expect(status).toBe(200);
    const { body } = await acme.call("GET", "/api/audit");
    expect(body.data[0]).toMatchObject({
      action: "git_connection.updated",
      resource: { kind: "git_connection", id },
      fields: ["name", "baseUrl", "secret"],
    });
    expect(JSON.stringify(body)).not.toContain("another-token");
  });
});

describe("a project's connection", () => {
  it("is one of the same organization, and the repository lies below its address", async () => {
    const serverId = await addServer(acme.call);
    const id = await add();
    const projectId = await addProject(acme.call, serverId, source(id));
    const shown = await acme.call("GET", `/api/projects/${projectId}`);
    expect(shown.body.data.source.connectionId).toBe(id);
    const other = await platform.organization();
    const foreign = { name: "x", serverId: await addServer(other.call), ...source(id) };
    expect((await other.call("POST", "/api/projects", foreign)).status).toBe(404);
    const cloneUrl = "https://git.test.evil.test/acme/shop.git";
    const elsewhere = await acme.call("PATCH", `/api/projects/${projectId}`, source(id, { cloneUrl }));
    expect([elsewhere.status, elsewhere.body.details[0].path]).toEqual([400, "body.source.cloneUrl"]);
    const gone = await acme.call("PATCH", `/api/projects/${projectId}`, source("gcn_none"));
    expect(gone.status).toBe(404);
  });

  it("is chosen only by those who may see connections; the same repository stays anyone's to change", async () => {
    const id = await add();
    const projectId = await addProject(acme.call, await addServer(acme.call), source(id));
    const path = `/api/projects/${projectId}`;
    const limited = await acme.with({ permissions: ["project:write"] });
    expect((await limited("PATCH", path, source(id, { repo: "secret" }))).status).toBe(403);
    expect((await limited("PATCH", path, source(id, { branch: "next" }))).status).toBe(200);
  });

  it("keeps it from being forgotten; afterwards its secret is gone", async () => {
    const id = await add();
    const path = `/api/git-connections/${id}`;
    const projectId = await addProject(acme.call, await addServer(acme.call), source(id));
    const refused = await acme.call("DELETE", path);
    expect([refused.status, refused.body.code]).toEqual([409, "git_connection_in_use"]);
    expect((await acme.call("DELETE", `/api/projects/${projectId}?release=1`)).status).toBe(200);
    expect((await acme.call("DELETE", path)).body).toEqual({ success: true });
    expect((await stored(id)).sealedSecret).toBe("");
    expect((await acme.call("GET", path)).status).toBe(404);
    expect((await acme.call("DELETE", path)).status).toBe(404);
  });
});
