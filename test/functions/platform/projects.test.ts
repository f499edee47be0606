import { eq } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { slugFrom } from "../../../functions/platform/create-project.ts";
import { projectEnv, projects } from "../../../shared/db/project-tables.ts";
import { envValuePlace, webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { addProject, addServer, type Organization, openTestPlatform, type TestPlatform } from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let serverId: string;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  serverId = await addServer(acme.call);
});

const source = { kind: "git", owner: "Acme", repo: "Shop" };

describe("creating a project", () => {
  it("answers every field, with the address that it will have", async () => {
    const { status, body } = await acme.call("POST", "/api/projects", {
      name: "Grüße & Küsse!",
      serverId,
      source,
      build: { port: 8080 },
      autoDeploy: false,
    });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      slug: "grusse-kusse",
      urls: ["http://grusse-kusse.apps.test"],
      source: { ...source, provider: "git_host" },
      autoDeploy: false,
      buildStrategy: "auto",
      build: { port: 8080 },
      rollbackWindow: 5,
      linked: false,
      activeDeploymentId: null,
      location: "local",
      cloudProjectId: null,
    });
    const [row] = await platform.db.select().from(projects).where(eq(projects.id, body.data.id));
    expect(row?.repository).toBe("acme/shop");
  });

  it("finds another slug when the name is taken, and refuses a wanted one that is", async () => {
    const slugs = new Set<string>();
    for (let index = 0; index < 4; index++) {
      const { body } = await acme.call("POST", "/api/projects", { name: "Twin", serverId, source });
      slugs.add(body.data.slug);
    }
    expect(slugs.size).toBe(4);
    const other = await platform.organization();
    const wanted = { name: "x", slug: "twin", serverId: await addServer(other.call), source };
    const { status, body } = await other.call("POST", "/api/projects", wanted);
    expect([status, body.code, body.details[0].path]).toEqual([409, "slug_taken", "body.slug"]);
  });

  it("gives equal names made at the same moment different slugs", async () => {
    const create = () => acme.call("POST", "/api/projects", { name: "Rush", serverId, source });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    expect(new Set(answers.map((answer) => answer.body.data.slug)).size).toBe(8);
  });

  it("refuses a server of another organization like an absent one", async () => {
    const foreign = await addServer((await platform.organization()).call);
    for (const id of [foreign, "srv_none"]) {
      const { status, body } = await acme.call("POST", "/api/projects", { name: "x", serverId: id, source });
      expect([status, body.code]).toEqual([404, "not_found"]);
    }
  });

  it("names every wrong field", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ name: "" }, "body.name"],
      [{ slug: "Upper" }, "body.slug"],
      [{ slug: "-x" }, "body.slug"],
      [{ source: { ...source, owner: "../.." } }, "body.source.owner"],
      [{ source: { ...source, branch: "--upload-pack=id" } }, "body.source.branch"],
      [{ source: { ...source, cloneUrl: "ext::sh -c id" } }, "body.source.cloneUrl"],
      [{ source: { ...source, cloneUrl: "https://user:secret@git.example/x" } }, "body.source.cloneUrl"],
      [{ rootDirectory: "../etc" }, "body.rootDirectory"],
      [{ build: { port: 70_000 } }, "body.build.port"],
      [{ build: { startCommand: "a\nb" } }, "body.build.startCommand"],
      [{ healthCheck: { path: "health" } }, "body.healthCheck.path"],
      [{ rollbackWindow: 51 }, "body.rollbackWindow"],
      [{ volumes: ["/etc:/etc"] }, "body.volumes.0"],
      [{ volumes: ["data:/a/../b"] }, "body.volumes.0"],
      [{ kind: "webmail" }, "body.kind"],
      [{ kind: "compose", volumes: ["data:/data"] }, "body.volumes"],
      [{ requireApproval: true }, "body.requireApproval"],
    ];
    for (const [change, path] of cases) {
      const wanted = { name: "x", serverId, source, ...change };
      const { status, body } = await acme.call("POST", "/api/projects", wanted);
      expect([status, body.details?.[0].path], JSON.stringify(change)).toEqual([400, path]);
    }
  });

  it("makes a slug that is a host name label of any name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }), (name) => {
        expect(slugFrom(name)).toMatch(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/);
      }),
    );
  });
});

describe("reading and changing projects", () => {
  it("pages newest first, within the caller's narrowing", async () => {
    const ids = [await addProject(acme.call, serverId), await addProject(acme.call, serverId)];
    const { body } = await acme.call("GET", "/api/projects?limit=1");
    expect([body.data[0].id, body.nextCursor]).toEqual([ids[1], ids[1]]);
    const narrowed = await acme.with({ projectIds: [ids[0] ?? ""] });
    expect((await narrowed("GET", "/api/projects")).body.data).toHaveLength(1);
    expect((await narrowed("GET", `/api/projects/${ids[1]}`)).status).toBe(404);
    expect((await narrowed("POST", "/api/projects", { name: "x", serverId, source })).status).toBe(403);
  });

  it("changes what is named and leaves the rest, asking for a full rebuild where the build changes", async () => {
    const id = await addProject(acme.call, serverId, { build: { port: 3000 } });
    const renamed = await acme.call("PATCH", `/api/projects/${id}`, { name: "New" });
    expect(renamed.body.data).toMatchObject({ name: "New", build: { port: 3000 }, rebuildAllNext: false });
    const moved = await acme.call("PATCH", `/api/projects/${id}`, {
      source: { kind: "git", owner: "Acme", repo: "Other", branch: "main" },
      updateStrategy: "recreate",
    });
    expect(moved.body.data).toMatchObject({ rebuildAllNext: true, updateStrategy: "recreate" });
    const [row] = await platform.db.select().from(projects).where(eq(projects.id, id));
    expect([row?.repository, row?.branch]).toEqual(["acme/other", "main"]);
    const audit = await acme.call("GET", "/api/audit?limit=1");
    const entry = { action: "project.updated", fields: ["source", "updateStrategy"], sourceIp: "192.0.2.7" };
    expect(audit.body.data[0]).toMatchObject(entry);
  });

  it("answers foreign, absent and deleted ones with the same 404, on every route", async () => {
    const gone = await addProject(acme.call, serverId);
    await acme.call("DELETE", `/api/projects/${gone}`);
    const other = await platform.organization();
    const foreign = await addProject(other.call, await addServer(other.call));
    const routes: [string, string, unknown][] = [
      ["GET", "", undefined],
      ["PATCH", "", { name: "x" }],
      ["DELETE", "", undefined],
      ["GET", "/env", undefined],
      ["PUT", "/env", { set: { A: "1" } }],
      ["POST", "/link", undefined],
      ["DELETE", "/link", undefined],
      ["GET", "/domains", undefined],
      ["POST", "/domains", { hostname: "a.test" }],
      ["DELETE", "/domains/dom_x", undefined],
    ];
    const bodies = new Set<string>();
    for (const id of [gone, foreign, "prj_none", "../../etc/passwd", "'; drop table projects; --"]) {
      for (const [method, path, body] of routes) {
        const answer = await acme.call(method, `/api/projects/${encodeURIComponent(id)}${path}`, body);
        expect(answer.status, `${method} ${path} ${id}`).toBe(404);
        bodies.add(JSON.stringify(answer.body));
      }
    }
    expect(bodies.size).toBe(1);
  });
});

describe("the environment of a project", () => {
  it("goes in sealed to its key and comes out as fingerprints only", async () => {
    const id = await addProject(acme.call, serverId);
    const secret = "s3cret \u{1F511}\nsecond line";
    const put = await acme.call("PUT", `/api/projects/${id}/env`, { set: { TOKEN: secret, EMPTY: "" } });
    expect(put.body.data.map((entry: { key: string }) => entry.key)).toEqual(["EMPTY", "TOKEN"]);
    expect(JSON.stringify(put.body)).not.toContain("s3cret");
    const [row] = await platform.db.select().from(projectEnv).where(eq(projectEnv.key, "TOKEN"));
    const place = envValuePlace({ id, organizationId: acme.organizationId }, "TOKEN");
    expect(await platform.sealer.open("env", place, row?.sealedValue ?? "")).toBe(secret);
    const elsewhere = envValuePlace({ id, organizationId: acme.organizationId }, "EMPTY");
    await expect(platform.sealer.open("env", elsewhere, row?.sealedValue ?? "")).rejects.toThrow();
  });

  it("shows a change by another fingerprint, and keeps what is not named", async () => {
    const id = await addProject(acme.call, serverId);
    const path = `/api/projects/${id}/env`;
    const before = (await acme.call("PUT", path, { set: { A: "1", B: "1" } })).body.data;
    expect(before[0].fingerprint).not.toBe(before[1].fingerprint);
    const after = (await acme.call("PUT", path, { set: { B: "2" } })).body.data;
    expect(after[0]).toEqual(before[0]);
    expect(after[1].fingerprint).not.toBe(before[1].fingerprint);
    const rest = (await acme.call("PUT", path, { unset: ["B", "NEVER"] })).body.data;
    expect(rest).toEqual([before[0]]);
    expect((await acme.call("GET", path)).body.data).toEqual(rest);
  });

  it("asks for a full rebuild only when a value is another one", async () => {
    const id = await addProject(acme.call, serverId);
    const flag = async () => (await acme.call("GET", `/api/projects/${id}`)).body.data.rebuildAllNext;
    await acme.call("PUT", `/api/projects/${id}/env`, { set: { A: "1" } });
    expect(await flag()).toBe(true);
    await acme.call("PATCH", `/api/projects/${id}`, { rebuildAllNext: false });
    await acme.call("PUT", `/api/projects/${id}/env`, { set: { A: "1" } });
    expect(await flag()).toBe(false);
  });

  it("refuses hostile keys, values that look sealed, and more than 500 entries", async () => {
    const id = await addProject(acme.call, serverId);
    const path = `/api/projects/${id}/env`;
    for (const set of [
      { "A=B": "1" },
      { "$(id)": "1" },
      { "A\nB": "1" },
      { "1A": "1" },
      { A: "sealed:v1:env:k:abc" },
      { A: "\0" },
      { A: "x".repeat(65_537) },
      Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`K${index}`, "v"])),
    ]) {
      expect((await acme.call("PUT", path, { set })).status).toBe(400);
    }
    expect((await acme.call("PUT", path, { set: { A: "1" }, unset: ["A"] })).body.details[0].path).toBe(
      "body.unset",
    );
    const most = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`K${index}`, "v"]));
    expect((await acme.call("PUT", path, { set: most })).status).toBe(200);
    const oneMore = await acme.call("PUT", path, { set: { LAST: "v" } });
    expect([oneMore.status, oneMore.body.details[0].path]).toEqual([400, "body.set"]);
    expect((await acme.call("GET", path)).body.data).toHaveLength(500);
  });
});

describe("the webhook of a project", () => {
  it("shows its secret in the answer that made it only, and seals it", async () => {
    const id = await addProject(acme.call, serverId);
    const first = (await acme.call("POST", `/api/projects/${id}/link`)).body.data;
    expect(first.webhookUrl).toMatch(/^https:\/\/slipway\.example\.com\/api\/webhooks\/git_host\?hook=hok_/);
    expect([first.registered, first.webhookSecret]).toEqual([false, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    const again = (await acme.call("POST", `/api/projects/${id}/link`)).body.data;
    expect([again.webhookUrl, again.webhookSecret]).toEqual([first.webhookUrl, undefined]);
    const rotated = (await acme.call("POST", `/api/projects/${id}/link?rotate=1`)).body.data;
    expect(rotated.webhookUrl).toBe(first.webhookUrl);
    expect(rotated.webhookSecret).not.toBe(first.webhookSecret);
    const [row] = await platform.db.select().from(projects).where(eq(projects.id, id));
    const place = webhookSecretPlace({ id, organizationId: acme.organizationId });
    expect(await platform.sealer.open("webhook", place, row?.sealedWebhookSecret ?? "")).toBe(
      rotated.webhookSecret,
    );
  });

  it("is removed, twice as well, and made anew with another address", async () => {
    const id = await addProject(acme.call, serverId);
    const first = (await acme.call("POST", `/api/projects/${id}/link`)).body.data;
    expect((await acme.call("GET", `/api/projects/${id}`)).body.data.linked).toBe(true);
    for (let time = 0; time < 2; time++) {
      expect((await acme.call("DELETE", `/api/projects/${id}/link`)).body).toEqual({ success: true });
    }
    expect((await acme.call("GET", `/api/projects/${id}`)).body.data.linked).toBe(false);
    const second = (await acme.call("POST", `/api/projects/${id}/link`)).body.data;
    expect(second.webhookUrl).not.toBe(first.webhookUrl);
  });
});
