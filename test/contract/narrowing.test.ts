/** What a narrowed token sees and may do, through the real edge and modules (decisions.md section 2). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedOrganization } from "../database.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { openWholeApi, seedProject, seedServer } from "./whole-api.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
let owner: { organizationId: string; userId: string };
let all: string;
let server: { one: string; other: string };
let project: { one: string; other: string };
let deployment: { one: string; other: string };

beforeAll(async () => {
  api = await openWholeApi();
  owner = await seedOrganization(api.db);
  all = (await seedToken(api.db, owner)).token;
  const pair = async (make: () => Promise<string>) => ({ one: await make(), other: await make() });
  server = await pair(async () => (await seedServer(api, owner.organizationId)).id);
  const on = (id: string) => seedProject(api.db, owner.organizationId, id);
  project = { one: await on(server.one), other: await on(server.other) };
  const deploy = async (projectId: string) =>
    (await call(all, "POST", "/api/deployments", { projectId })).body.data.id;
  deployment = { one: await deploy(project.one), other: await deploy(project.other) };
});
afterAll(() => api.close());

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
type Answer = { status: number; body: any };

async function call(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await api.send(path, { method, token, ...(body === undefined ? {} : json) });
  return { status: answer.status, body: await answer.json() };
}

const ids = async (token: string, path: string): Promise<string[]> =>
  (await call(token, "GET", path)).body.data.map(({ id }: { id: string }) => id);

describe.each([
  ["projects", () => ({ projectIds: [project.one] })],
  ["servers", () => ({ serverIds: [server.one] })],
  ["projects and servers", () => ({ projectIds: [project.one, project.other], serverIds: [server.one] })],
])("a token narrowed to %s", (_what, narrowing) => {
  let narrow: string;
  beforeAll(async () => {
    narrow = (await seedToken(api.db, owner, narrowing())).token;
  });

  test("lists only the projects, their servers and their deployments", async () => {
    expect(await ids(narrow, "/api/projects")).toEqual([project.one]);
    expect(await ids(narrow, "/api/servers")).toEqual([server.one]);
    expect(await ids(narrow, "/api/deployments")).toEqual([deployment.one]);
  });

  test("finds nothing else by its id, in paths, queries or bodies", async () => {
    for (const path of [
      `/api/projects/${project.other}`,
      `/api/projects/${project.other}/env`,
      `/api/projects/${project.other}/domains`,
      `/api/servers/${server.other}`,
      `/api/deployments/${deployment.other}`,
      `/api/deployments/${deployment.other}/logs`,
      `/api/deployments/${deployment.other}/stream`,
      `/api/deployments?projectId=${project.other}`,
    ]) {
      expect([path, (await call(narrow, "GET", path)).status]).toEqual([path, 404]);
    }
    const made = await call(narrow, "POST", "/api/deployments", { projectId: project.other });
    expect(made.status).toBe(404);
    expect((await call(narrow, "POST", `/api/deployments/${deployment.other}/cancel`)).status).toBe(404);
    expect((await call(narrow, "GET", `/api/deployments/${deployment.one}`)).status).toBe(200);
  });

  test("cannot add a server, which would lie outside of it", async () => {
    const auth = { kind: "password", password: "x" };
    const { status, body } = await call(narrow, "POST", "/api/servers", {
      name: "new",
      host: "192.0.2.9",
      auth,
      hostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    });
    expect([status, body.code]).toEqual([403, "narrowed_token"]);
    expect(body.error).toMatch(/^A token that is narrowed to some (projects|servers) cannot add a server\.$/);
  });

  test("makes and sees no token beyond its own narrowing", async () => {
    for (const beyond of [{ projectIds: [project.other] }, { serverIds: [server.other] }]) {
      expect((await call(narrow, "POST", "/api/tokens", { name: "x", ...beyond })).status).toBe(404);
    }
    const { body } = await call(narrow, "POST", "/api/tokens", { name: "x" });
    expect(body.data).toMatchObject(narrowing());
    expect(await ids(body.data.token, "/api/projects")).toEqual([project.one]);
    const wide = (await seedToken(api.db, owner)).id;
    const seen = await ids(narrow, "/api/tokens");
    expect([seen.includes(body.data.id), seen.includes(wide)]).toEqual([true, false]);
    expect((await call(narrow, "DELETE", `/api/tokens/${wide}`)).status).toBe(404);
  });

  test("reads of the audit what concerns what it sees", async () => {
    const entries = (await call(narrow, "GET", "/api/audit?limit=200")).body.data;
    const about = entries.map(({ resource }: { resource: { id: string } }) => resource.id);
    expect(about).toContain(deployment.one);
    expect(about).not.toContain(deployment.other);
  });
});

test("a token narrowed to projects changes no server, since other projects may be on it", async () => {
  const narrow = (await seedToken(api.db, owner, { projectIds: [project.one] })).token;
  const path = `/api/servers/${server.one}`;
  for (const [method, url, body] of [
    ["PATCH", path, { name: "mine" }],
    ["DELETE", path],
    ["POST", `${path}/bootstrap`],
  ] as const) {
    const refused = await call(narrow, method, url, body);
    expect([method, refused.status, refused.body.code]).toEqual([method, 403, "narrowed_token"]);
  }
});

test("a token narrowed to servers adds projects on these servers only", async () => {
  const narrow = (await seedToken(api.db, owner, { serverIds: [server.one] })).token;
  const source = { kind: "git", owner: "acme", repo: "blog" };
  const add = (serverId: string) => call(narrow, "POST", "/api/projects", { name: "Blog", serverId, source });
  expect((await add(server.other)).status).toBe(404);
  const made = await add(server.one);
  expect(made.status).toBe(201);
  expect((await call(narrow, "DELETE", `/api/projects/${made.body.data.id}?release=1`)).status).toBe(200);
});

test("a token whose projects are on none of its servers is refused when it is made", async () => {
  const wanted = { name: "x", projectIds: [project.one], serverIds: [server.other] };
  const { status, body } = await call(all, "POST", "/api/tokens", wanted);
  expect([status, body.details[0].path]).toEqual([400, "body.projectIds.0"]);
});
