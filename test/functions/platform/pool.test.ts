/** Where projects without a server go in a cloud with a pool, and who may do what with them there. */
import { eq, inArray } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { tellOfPool } from "../../../functions/platform/pool.ts";
import { serverHealth } from "../../../shared/db/notification-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { recordingLog } from "../../silent-log.ts";
import {
  addDeployment,
  addServer,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

const pool: string[] = [];
let platform: TestPlatform;
let operator: Organization;
let tenant: Organization;
const source = { kind: "upload" };

beforeAll(async () => {
  platform = await openTestPlatform({ poolServers: pool });
  operator = await platform.organization();
});
afterAll(() => platform.close());
beforeEach(async () => {
  tenant = await platform.organization();
  pool.length = 0;
});

async function poolServer(ready = true): Promise<string> {
  const id = await addServer(operator.call, { name: "pool-1", host: "203.0.113.77" });
  if (ready) await bootstrapped(id);
  pool.push(id);
  return id;
}
const bootstrapped = (id: string) =>
  platform.db.update(servers).set({ bootstrappedAt: new Date() }).where(eq(servers.id, id));
const create = (change: Record<string, unknown> = {}, as = tenant) =>
  as.call("POST", "/api/projects", { name: "Shop", source, ...change });
const placeOf = async (projectId: string) => {
  const [row] = await platform.db.select().from(projects).where(eq(projects.id, projectId));
  return row?.serverId;
};

describe("a project without a server", () => {
  it("is placed on the ready server of the pool with the fewest projects", async () => {
    const [one, two] = [await poolServer(), await poolServer()];
    const made = [];
    for (let count = 0; count < 4; count++) made.push((await create()).body.data);
    const places = await Promise.all(made.map(({ id }) => placeOf(id)));
    expect(places).toEqual([one, two, one, two]);
    await tenant.call("DELETE", `/api/projects/${made[1].id}`);
    expect(await placeOf((await create()).body.data.id)).toBe(two);
  });

  it("is spread over the pool also when many come at once", async () => {
    const ids = [await poolServer(), await poolServer()];
    const made = await Promise.all(Array.from({ length: 6 }, () => create()));
    const places = await Promise.all(made.map(({ body }) => placeOf(body.data.id)));
    for (const id of ids) expect(places.filter((each) => each === id)).toHaveLength(3);
  });

  it("waits for no server that is not set up, does not answer, was deleted or never was", async () => {
    const bare = await poolServer(false);
    const away = await poolServer();
    await platform.db
      .insert(serverHealth)
      .values({ serverId: away, checkedAt: new Date(), unreachable: true });
    const gone = await poolServer();
    await operator.call("DELETE", `/api/servers/${gone}`);
    const unknown = newId("server");
    pool.push(unknown);
    const refused = await create();
    expect([refused.status, refused.body.code]).toEqual([409, "pool_not_ready"]);
    expect(refused.body.error).toContain("server of your own");
    for (const id of pool) expect(refused.body.error).not.toContain(id);

    const log = recordingLog();
    await tellOfPool({ db: platform.db, log }, pool);
    const told = log.lines.map(({ fields }) => [fields["serverId"], fields["problem"]]);
    expect(Object.fromEntries(told)).toEqual({
      [bare]: "it has not been bootstrapped",
      [away]: "it does not answer",
      [gone]: "it has been deleted",
      [unknown]: "there is no such server",
    });
    await bootstrapped(bare);
    expect(await placeOf((await create()).body.data.id)).toBe(bare);
  });

  it("needs one where there is no pool, as ever", async () => {
    const refused = await create();
    expect([refused.status, refused.body.details?.[0]?.path]).toEqual([400, "body.serverId"]);
    const promotion = { originProjectId: "prj_there", project: { name: "Shop", source } };
    const turned = await tenant.call("POST", "/api/promotions", promotion);
    expect([turned.status, turned.body.code]).toEqual([409, "no_ready_server"]);
  });

  it("is not added by a token that is narrowed to servers", async () => {
    await poolServer();
    const own = await addServer(tenant.call);
    const narrow = await tenant.with({ serverIds: [own] });
    const refused = await create({}, { ...tenant, call: narrow });
    expect([refused.status, refused.body.code]).toEqual([403, "narrowed_token"]);
  });

  it("and is promoted goes to a server of its organization, else to the pool", async () => {
    const there = await poolServer();
    const promote = async (originProjectId: string) => {
      const promotion = { originProjectId, project: { name: "Shop", source } };
      return placeOf((await tenant.call("POST", "/api/promotions", promotion)).body.data.projectId);
    };
    expect(await promote("prj_one")).toBe(there);
    const own = await addServer(tenant.call);
    await bootstrapped(own);
    expect(await promote("prj_two")).toBe(own);
    expect(await promote("prj_one")).toBe(there);
  });
});

describe("a server of the pool", () => {
  let id: string;
  let project: { id: string };
  beforeEach(async () => {
    id = await poolServer();
    project = (await create()).body.data;
  });

  it("is nothing that the tenant can see, use or name", async () => {
    const shown = [
      await create(),
      await tenant.call("GET", `/api/projects/${project.id}`),
      await tenant.call("PATCH", `/api/projects/${project.id}`, { rollbackWindow: 2 }),
      await tenant.call("GET", "/api/projects"),
    ];
    for (const { status, body } of shown) {
      expect(status).toBeLessThan(300);
      expect(JSON.stringify(body)).not.toMatch(new RegExp(`${id}|pool-1|203\\.0\\.113\\.77`));
    }
    expect(shown[1]?.body.data).toMatchObject({ serverId: null });
    expect((await tenant.call("GET", "/api/servers")).body.data).toEqual([]);
    for (const [method, path, body] of [
      ["GET", `/api/servers/${id}`],
      ["PATCH", `/api/servers/${id}`, { name: "mine" }],
      ["DELETE", `/api/servers/${id}`],
      ["POST", `/api/servers/${id}/check`],
      ["POST", `/api/servers/${id}/bootstrap`],
      ["GET", `/api/servers/${id}/disk`],
      ["POST", "/api/projects", { name: "x", serverId: id, source }],
      ["POST", "/api/tokens", { name: "x", serverIds: [id] }],
    ] as const) {
      expect([path, (await tenant.call(method, path, body)).status]).toEqual([path, 404]);
    }
  });

  it("is told to its owner as any other, and its owner's own project there is an ordinary one", async () => {
    const own = await create({ serverId: id }, operator);
    expect(own.body.data.serverId).toBe(id);
    expect((await operator.call("GET", `/api/projects/${project.id}`)).status).toBe(404);
  });

  it("is not forgotten while it carries a project of anybody", async () => {
    const refused = await operator.call("DELETE", `/api/servers/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "server_has_projects"]);
    await tenant.call("DELETE", `/api/projects/${project.id}`);
    expect((await operator.call("DELETE", `/api/servers/${id}`)).status).toBe(200);
  });

  it("that cannot be used is not named when a host name is attached", async () => {
    await addDeployment(platform.db, project.id, 20_100);
    platform.shell.answer(new ShellFailure("authentication", "The server at 203.0.113.77:22 refused it."));
    const answer = await tenant.call("POST", `/api/projects/${project.id}/domains`, {
      hostname: "pool-a.test",
    });
    expect([answer.status, answer.body.code]).toEqual([502, "pool_server_unavailable"]);
    expect(JSON.stringify(answer.body)).not.toContain("203.0.113.77");
    platform.shell.answer({ stdout: "applied\n" });
  });

  it("that cannot be used is not named when a project is to be removed, which then is still there", async () => {
    await addDeployment(platform.db, project.id, 20_101);
    platform.shell.answer(new ShellFailure("authentication", "The server at 203.0.113.77:22 refused it."));
    const runner = platform.startRunner();
    const answer = await tenant.call("DELETE", `/api/projects/${project.id}`);
    await runner.stop();
    platform.shell.answer({});
    expect([answer.status, answer.body.code]).toEqual([502, "pool_server_unavailable"]);
    expect(JSON.stringify(answer.body)).not.toMatch(/203\.0\.113\.77|release=1/);
    expect((await tenant.call("GET", `/api/projects/${project.id}`)).body.data.deleting).toBe(false);
  });

  it("keeps nothing that nobody owns", async () => {
    const refused = await tenant.call("DELETE", `/api/projects/${project.id}?release=1`);
    expect([refused.status, refused.body.code]).toEqual([409, "pool_keeps_nothing"]);
    expect(await platform.db.$count(projects, inArray(projects.id, [project.id]))).toBe(1);
  });
});
