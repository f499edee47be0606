/** What `applyProxy` and `switchRoute` do with the database; what the script does on a server is in the lab test. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { type Shell, ShellFailure } from "../../../shared/ports/shell.ts";
import { applyProxy, type ProxyParts } from "../../../shared/proxy/apply.ts";
import { switchRoute } from "../../../shared/proxy/switch-route.ts";
import {
  addDeployment,
  addProject,
  addServer,
  openTestPlatform,
  type TestPlatform,
} from "../../functions/platform/platform.ts";

let platform: TestPlatform;
let parts: ProxyParts;
let serverId: string;
let projectId: string;
let first: string;
let second: string;
let port = 22_000;
beforeAll(async () => {
  platform = await openTestPlatform();
  parts = platform.proxy;
});
afterAll(() => platform.close());
beforeEach(async () => {
  const acme = await platform.organization();
  serverId = await addServer(acme.call);
  projectId = await addProject(acme.call, serverId);
  first = await addDeployment(platform.db, projectId, ++port);
  second = await addDeployment(platform.db, projectId, ++port, { active: false });
  platform.shell.commands.length = 0;
  platform.shell.answer({ stdout: "applied\n" });
});

const active = async () => {
  const [row] = await platform.db.select().from(projects).where(eq(projects.id, projectId));
  return row?.activeDeploymentId;
};
const revision = async () => {
  const [row] = await platform.db.select().from(servers).where(eq(servers.id, serverId));
  return row?.proxyRevision;
};
const sent = (index: number) => String(platform.shell.commands.at(index)?.command.stdin);

describe("switching the route of a project", () => {
  it("sends the whole configuration with the next revision, in one round trip", async () => {
    const outcome = await switchRoute(parts, { serverId, projectId, deploymentId: second });
    expect(outcome).toEqual({ revision: 1, applied: true });
    expect(platform.shell.commands).toHaveLength(1);
    expect(sent(0)).toContain(`${projectId} ${port}\n`);
    expect(platform.shell.commands[0]?.command.argv.slice(-3)).toEqual(["1", serverId, "1"]);
    expect(await active()).toBe(second);
  });

  it("leaves the old one active when the proxy refuses, with a revision above the refused one", async () => {
    platform.shell.answer({ stdout: "refused\nno" });
    const refused = switchRoute(parts, { serverId, projectId, deploymentId: second });
    await expect(refused).rejects.toMatchObject({ code: "proxy_refused", kind: "upstream" });
    expect([await active(), await revision()]).toEqual([first, 2]);
    expect(platform.shell.commands).toHaveLength(1);
  });

  it("asks once more when the answer was lost, and sends the old state when it stays unknown", async () => {
    const lost = new ShellFailure("connection_lost", "The connection broke.");
    platform.shell.answer(lost, { stdout: "applied\n" });
    expect(await switchRoute(parts, { serverId, projectId, deploymentId: second })).toEqual({
      revision: 1,
      applied: true,
    });
    platform.shell.commands.length = 0;
    platform.shell.answer(lost, lost, { stdout: "applied\n" });
    await expect(switchRoute(parts, { serverId, projectId, deploymentId: first })).rejects.toBe(lost);
    expect(await active()).toBe(second);
    expect(platform.shell.commands).toHaveLength(3);
    expect(sent(2)).toContain(`${projectId} ${port}\n`);
  });

  it("takes a newer configuration on the server for its own, since it holds the change", async () => {
    // Another change of the same server overtakes this one on the way.
    const { run } = platform.shell.port;
    const overtaken: Shell = {
      ...platform.shell.port,
      run: async (target, command) => {
        await applyProxy(parts, { serverId });
        platform.shell.answer({ stdout: "superseded 2\n" });
        return run(target, command);
      },
    };
    const switched = switchRoute(
      { ...parts, shell: overtaken },
      { serverId, projectId, deploymentId: second },
    );
    expect(await switched).toEqual({ revision: 1, applied: false });
    expect(await active()).toBe(second);
    expect(sent(0)).toContain(`${projectId} ${port}\n`);
  });

  it("counts on above a server that has outlived a restored database", async () => {
    platform.shell.answer({ stdout: "superseded 700\n" }, { stdout: "applied\n" });
    const switched = switchRoute(parts, { serverId, projectId, deploymentId: second });
    expect(await switched).toEqual({ revision: 701, applied: true });
    expect(await revision()).toBe(701);
  });

  it("takes no number from a server that the database could not hold", async () => {
    platform.shell.answer({ stdout: "superseded 99999999999999999999\n" });
    const switched = switchRoute(parts, { serverId, projectId, deploymentId: second });
    await expect(switched).rejects.toMatchObject({ code: "proxy_failed" });
  });

  it("changes nothing when the transaction that fences it refuses", async () => {
    const refusing = () => Promise.reject(new Error("lease lost"));
    const switching = switchRoute(parts, {
      serverId,
      projectId,
      deploymentId: second,
      transaction: refusing,
    });
    await expect(switching).rejects.toThrow("lease lost");
    expect([await active(), await revision(), platform.shell.commands.length]).toEqual([first, 0, 0]);
  });

  it("numbers changes made at the same moment in one order, each with all before it", async () => {
    await Promise.all(Array.from({ length: 8 }, () => applyProxy(parts, { serverId })));
    const revisions = platform.shell.commands.map(({ command }) => Number(command.argv.at(-3)));
    expect(revisions.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

it("does not serve other servers' projects, deleted ones, or ones without a port", async () => {
  await applyProxy(parts, { serverId });
  expect(sent(0)).toContain(`${projectId} ${port - 1}\n`);
  await platform.db.update(projects).set({ deletedAt: new Date() }).where(eq(projects.id, projectId));
  await applyProxy(parts, { serverId });
  expect(sent(1)).not.toContain("reverse_proxy");
});
