import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { registries } from "../../../shared/db/connection-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { registrySecretPlace } from "../../../shared/domain/sealed-place.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { addServer, type Organization, openTestPlatform, type TestPlatform } from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  platform.shell.commands.length = 0;
});

const secret = "pull-0123456789WXYZ";
const base = { name: "images", host: "images.test:5000", username: "ada", secret };
const add = (change: Record<string, unknown> = {}) =>
  acme.call("POST", "/api/registries", { ...base, ...change });
const stored = async (id: string) => {
  const [row] = await platform.db.select().from(registries).where(eq(registries.id, id));
  if (row === undefined) throw new Error("no such registry");
  return row;
};

describe("adding a registry", () => {
  it("seals the secret and answers its last four letters only", async () => {
    const { status, body } = await add({ host: "Images.TEST:5000" });
    expect(status).toBe(201);
    const { id, createdAt, ...shown } = body.data;
    expect(createdAt).toBeTruthy();
    expect(shown).toEqual({
      name: "images",
      host: "images.test:5000",
      username: "ada",
      secret: { set: true, last4: "WXYZ" },
    });
    const row = await stored(id);
    expect(row.sealedSecret).toMatch(/^sealed:v1:registry:/);
    expect(await platform.sealer.open("registry", registrySecretPlace(row), row.sealedSecret)).toBe(secret);
    const list = await acme.call("GET", "/api/registries");
    expect(list.body).toEqual({ data: [body.data], nextCursor: null });
    expect(JSON.stringify([body, list.body])).not.toMatch(/pull-|sealed/);
  });

  it("shows nothing of a short secret, and knows Docker Hub under all of its names", async () => {
    const { body } = await add({ host: "index.docker.io", secret: "short" });
    expect(body.data).toMatchObject({ host: "docker.io", secret: { last4: "" } });
    expect((await add({ host: "docker.io" })).body.code).toBe("registry_exists");
  });

  it("takes one a registry, of each organization", async () => {
    expect((await add()).status).toBe(201);
    const again = await add({ host: "images.test:5000", name: "other" });
    expect([again.status, again.body.code]).toEqual([409, "registry_exists"]);
    const other = await platform.organization();
    expect((await other.call("POST", "/api/registries", base)).status).toBe(201);
  });

  it("names every wrong field", async () => {
    for (const [change, path] of [
      [{ host: "https://images.test" }, "body.host"],
      [{ host: "images.test/team" }, "body.host"],
      [{ host: "images" }, "body.host"],
      [{ host: "-images.test" }, "body.host"],
      [{ host: "images.test:99999" }, "body.host"],
      [{ host: 'images.test"' }, "body.host"],
      [{ host: "images.test\nother.test" }, "body.host"],
      [{ username: "ada:x" }, "body.username"],
      [{ username: "" }, "body.username"],
      [{ secret: "two\nlines" }, "body.secret"],
      [{ secret: "" }, "body.secret"],
      [{ secret: "sealed:v1:registry:k:abc" }, "body.secret"],
      [{ name: "a\nb" }, "body.name"],
      [{ other: 1 }, "body.other"],
    ] as const) {
      const { status, body } = await add(change);
      expect([status, body.details?.[0].path], JSON.stringify(change)).toEqual([400, path]);
    }
  });

  it("is for nobody with a narrowed token, and not for a viewer", async () => {
    const { body } = await add();
    const path = `/api/registries/${body.data.id}`;
    const narrow = await acme.with({ projectIds: [] });
    for (const [method, url] of [
      ["POST", "/api/registries"],
      ["DELETE", path],
    ] as const) {
      const refused = await narrow(method, url, method === "POST" ? { ...base, host: "b.test" } : undefined);
      expect([refused.status, refused.body.code]).toEqual([403, "narrowed_token"]);
    }
    const viewer = await acme.with({ role: "viewer" });
    expect((await viewer("GET", "/api/registries")).status).toBe(200);
    expect((await viewer("POST", "/api/registries", base)).status).toBe(403);
    const member = await acme.with({ role: "member" });
    expect((await member("DELETE", path)).status).toBe(403);
  });
});

describe("forgetting a registry", () => {
  it("wipes the secret and frees the host", async () => {
    const { body } = await add();
    expect((await acme.call("DELETE", `/api/registries/${body.data.id}`)).body).toEqual({ success: true });
    expect(await stored(body.data.id)).toMatchObject({ sealedSecret: "", last4: "" });
    expect((await acme.call("DELETE", `/api/registries/${body.data.id}`)).status).toBe(404);
    expect((await add()).status).toBe(201);
  });
});

describe("checking a registry", () => {
  let path: string;
  let serverId: string;
  beforeEach(async () => {
    path = `/api/registries/${(await add()).body.data.id}/check`;
    serverId = await addServer(acme.call);
    await platform.db.update(servers).set({ bootstrappedAt: new Date() }).where(eq(servers.id, serverId));
  });
  const check = async (query = "") => (await acme.call("POST", `${path}${query}`)).body.data;

  it("asks the engine of the newest server that is set up, with the secret on standard input alone", async () => {
    await addServer(acme.call);
    platform.shell.answer({ stdout: '{"Status":"Login Succeeded"}\n200' });
    expect(await check()).toEqual({ ok: true, serverId });
    const [{ command } = { command: null }] = platform.shell.commands;
    expect(JSON.stringify(command?.argv)).not.toContain(secret);
    expect(JSON.parse(String(command?.stdin))).toEqual({
      username: "ada",
      password: secret,
      serveraddress: "images.test:5000",
    });
  });

  it("answers a failure as its result, with the reason and without the secret", async () => {
    const refused = '{"message":"Get \\"https://images.test/v2/\\": unauthorized"}\n';
    platform.shell.answer({ stdout: `${refused}401` });
    expect(await check()).toMatchObject({ ok: false, code: "registry_not_allowed" });
    platform.shell.answer({ stdout: `${refused}500` });
    expect(await check()).toMatchObject({ ok: false, code: "registry_not_allowed" });
    platform.shell.answer({ stdout: `{"message":"dial tcp: no such host ${secret}"}\n500` });
    const away = await check();
    expect(away).toMatchObject({ ok: false, code: "registry_unreachable" });
    expect(away.error).toContain("no such host [redacted]");
    for (const answer of [{ code: 61 }, { code: 7, stdout: "\n000" }, { stdout: "nonsense" }]) {
      platform.shell.answer(answer);
      expect(await check()).toMatchObject({ ok: false, code: "server_not_ready" });
    }
    platform.shell.answer(new ShellFailure("unreachable", "Nothing answers."));
    expect(await check()).toEqual({ ok: false, code: "unreachable", error: "Nothing answers.", serverId });
  });

  it("asks the server that is named, of one's own only", async () => {
    platform.shell.answer({ stdout: "{}\n200" });
    const other = await addServer(acme.call);
    expect(await check(`?serverId=${other}`)).toEqual({ ok: true, serverId: other });
    const stranger = await platform.organization();
    const foreign = await addServer(stranger.call);
    expect((await acme.call("POST", `${path}?serverId=${foreign}`)).status).toBe(404);
  });

  it("says that a server is needed where there is none", async () => {
    await platform.db.update(servers).set({ bootstrappedAt: null }).where(eq(servers.id, serverId));
    expect(await check()).toMatchObject({ ok: false, code: "no_server", serverId: null });
  });
});
