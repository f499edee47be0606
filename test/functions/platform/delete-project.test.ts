import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { domains, projectEnv, projects } from "../../../shared/db/project-tables.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { desiredRoutes } from "../../../shared/proxy/desired-state.ts";
import {
  addDeployment,
  addProject,
  addServer,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let projectId: string;
let unique = 0;
beforeAll(async () => {
  platform = await openTestPlatform();
  platform.startRunner();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  projectId = await addProject(acme.call, await addServer(acme.call));
  platform.shell.commands.length = 0;
  await acme.call("PUT", `/api/projects/${projectId}/env`, { set: { A: "1" } });
  await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname: `d${++unique}.test` });
});

const remove = (query = "") => acme.call("DELETE", `/api/projects/${projectId}${query}`);
const row = async () => {
  const [found] = await platform.db.select().from(projects).where(eq(projects.id, projectId));
  return found;
};

describe("deleting a project", () => {
  it("asks no server for one that was never deployed", async () => {
    expect((await remove()).body).toEqual({ success: true });
    expect(platform.shell.commands).toHaveLength(0);
    expect((await acme.call("GET", `/api/projects/${projectId}`)).status).toBe(404);
  });

  it("takes the route away, then what is labelled, then the secrets, and frees names and port", async () => {
    const deployment = await addDeployment(platform.db, projectId, 21_001);
    platform.shell.answer({}, { stdout: "applied\n" }, { stdout: "gone\n" });
    expect((await remove()).status).toBe(200);
    const [fence, proxy, removal] = platform.shell.commands;
    expect(fence?.command.argv.at(-3)).toBe(`/var/lib/slipway/fences/${projectId}`);
    expect(String(proxy?.command.stdin)).not.toContain("21001");
    expect(removal?.command.argv.slice(-2)).toEqual([projectId, "0"]);
    expect(removal?.command.stdin).toBe(`${deployment}\n`);
    expect(await platform.db.$count(projectEnv, eq(projectEnv.projectId, projectId))).toBe(0);
    expect(await platform.db.$count(domains, eq(domains.projectId, projectId))).toBe(0);
    const [kept] = await platform.db.select().from(deployments).where(eq(deployments.id, deployment));
    expect(kept?.hostPort).toBeNull();
  });

  it("is refused while a deployment is in flight, and nothing has changed", async () => {
    await addDeployment(platform.db, projectId, 21_002);
    await addDeployment(platform.db, projectId, null, { active: false, state: "building" });
    for (const query of ["", "?release=1"]) {
      const refused = await remove(query);
      expect([refused.status, refused.body.code]).toEqual([409, "deployment_in_flight"]);
    }
    expect(platform.shell.commands).toHaveLength(0);
    expect((await row())?.deletedAt).toBeNull();
  });

  it("deletes its volumes where that is asked for", async () => {
    await addDeployment(platform.db, projectId, 21_006);
    platform.shell.answer({}, { stdout: "applied\n" }, { stdout: "gone\n" });
    expect((await remove("?volumes=1")).status).toBe(200);
    expect(platform.shell.commands.at(-1)?.command.argv.slice(-2)).toEqual([projectId, "1"]);
    const both = await remove("?volumes=1&release=1");
    expect([both.status, both.body.details]).toMatchObject([400, [{ path: "query.volumes" }]]);
  });

  it("leaves the project whole when the server cannot be reached, and names the way out", async () => {
    const active = await addDeployment(platform.db, projectId, 21_003);
    platform.shell.answer(new ShellFailure("unreachable", "Nothing answers."));
    const refused = await remove();
    expect([refused.status, refused.body.code]).toEqual([502, "unreachable"]);
    expect(refused.body.error).toContain("release=1");
    expect(await row()).toMatchObject({ deletedAt: null, deletingAt: null, activeDeploymentId: active });
    expect(await platform.db.$count(projectEnv, eq(projectEnv.projectId, projectId))).toBe(1);
    expect((await remove("?release=1")).status).toBe(200);
  });

  it("puts the route back when the containers could not be removed", async () => {
    await addDeployment(platform.db, projectId, 21_004);
    platform.shell.answer({}, { stdout: "applied\n" }, { code: 1, stderr: "no" }, { stdout: "applied\n" });
    const refused = await remove();
    expect([refused.status, refused.body.code]).toEqual([502, "remove_failed"]);
    expect(String(platform.shell.commands.at(-1)?.command.stdin)).toContain("21004");
    expect((await acme.call("GET", `/api/projects/${projectId}`)).body.data.deleting).toBe(false);
  });

  it("leaves everything running when it is released, asks no server, and the proxy goes on serving it", async () => {
    const deployment = await addDeployment(platform.db, projectId, 21_005);
    const present = await row();
    if (present === undefined) throw new Error("no project");
    const { serverId, slug } = present;
    expect((await remove("?release=1")).status).toBe(200);
    expect(platform.shell.commands).toHaveLength(0);
    const [kept] = await platform.db.select().from(deployments).where(eq(deployments.id, deployment));
    expect(kept?.hostPort).toBe(21_005);
    expect((await remove()).status).toBe(404);
    const served = async () => {
      const routes = await desiredRoutes(platform.db, serverId, "apps.test");
      return routes.flatMap((route) => route.hostnames.map((name) => [name.hostname, route.upstreamPort]));
    };
    const names = [
      [`d${unique}.test`, 21_005],
      [`${slug}.apps.test`, 21_005],
    ];
    expect(await served()).toEqual(names);

    // Its names are free; a live project with one of them wins, and nothing falls back when that one goes.
    const next = await addProject(acme.call, serverId, { slug });
    expect(await served()).toEqual(names);
    await addDeployment(platform.db, next, 21_007);
    expect(await served()).toEqual([
      [`${slug}.apps.test`, 21_007],
      [`d${unique}.test`, 21_005],
    ]);
    platform.shell.answer({}, { stdout: "applied\n" }, { stdout: "gone\n" });
    expect((await acme.call("DELETE", `/api/projects/${next}`)).status).toBe(200);
    expect(await served()).toEqual([[`d${unique}.test`, 21_005]]);
  });

  it("needs project:admin", async () => {
    const member = await acme.with({ role: "member" });
    expect((await member("DELETE", `/api/projects/${projectId}`)).status).toBe(403);
  });
});
