/** Pushes whose delivery never came (decisions.md section 5). The look itself is real in reconcile.lab.test.ts. */

import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readHead } from "../../../functions/deploy/reconcile/look.ts";
import { reconcile } from "../../../functions/deploy/reconcile/sweep.ts";
import { branchHeads } from "../../../shared/db/delivery-tables.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { type Shell, ShellFailure } from "../../../shared/ports/shell.ts";
import { edgeUnderTest } from "../../edge/edge-under-test.ts";
import { deliver, openScene, push, seedProject, sha } from "../../edge/webhooks/scene.ts";
import { testPool } from "../../pool-rules.ts";
import { recordingLog } from "../../silent-log.ts";
import { type DeployPlatform, openDeployPlatform } from "./deploy-platform.ts";

let platform: DeployPlatform;
/** What the git host says of each repository; absent: it does not answer. */
let heads: Map<string, string>;
/** Run before the answer comes. */
let meanwhile: () => Promise<unknown>;
let looks: string[];

const shell = {
  run: async (_target: unknown, { argv }: { argv: readonly string[] }) => {
    const url = argv[4] ?? "";
    looks.push(url);
    const head = heads.get(url);
    await meanwhile();
    if (head === "refused") return { code: 128, stdout: "", stderr: "remote: you sent token-0123456789\n" };
    if (head === undefined) throw new ShellFailure("unreachable", "The server does not answer.");
    return { code: 0, stdout: head === "" ? "" : `${head}\trefs/heads/main\n`, stderr: "" };
  },
} as unknown as Shell;

beforeAll(async () => {
  platform = await openDeployPlatform();
});
afterAll(() => platform.close());
const scene = openScene(() => platform.db);
beforeEach(async () => {
  heads = new Map();
  meanwhile = async () => undefined;
  looks = [];
  // Of this test alone.
  await platform.db.update(projects).set({ autoDeploy: false });
});

const log = recordingLog();
const sweep = () =>
  reconcile({
    ...{ db: platform.db, sealer: platform.sealer, shell, log, pool: testPool, everyMs: 300_000 },
    signal: new AbortController().signal,
  });

/** A project on a server of its own that is ready, and where its repository is. */
async function watched(values: Partial<typeof projects.$inferInsert> = {}) {
  const organization = await platform.organization();
  const serverId = await platform.addServer(organization);
  const repo = newId("project").toLowerCase();
  const cloneUrl = `https://git.test/acme/${repo}.git`;
  const source = { kind: "git", provider: "git_host", owner: "acme", repo, cloneUrl } as const;
  const row = { source, repository: `acme/${repo}`, branch: "main", ...values };
  const id = await platform.addProject(organization, serverId, row);
  return { id, cloneUrl, serverId, organization };
}

const due = (projectId: string, changes: Partial<typeof branchHeads.$inferInsert> = {}) =>
  platform.db
    .update(branchHeads)
    .set({ nextLookAt: new Date(0), ...changes })
    .where(eq(branchHeads.projectId, projectId));
const headOf = async (projectId: string) =>
  (await platform.db.select().from(branchHeads).where(eq(branchHeads.projectId, projectId)))[0];
const raisedFor = (projectId: string) =>
  platform.db
    .select()
    .from(deployments)
    .where(and(eq(deployments.projectId, projectId), eq(deployments.trigger, "reconcile")));

describe("the reconcile job", () => {
  test("only records the head at the first look, and raises a missed push afterwards, once", async () => {
    const { id, cloneUrl, organization } = await watched();
    heads.set(cloneUrl, sha("a"));
    expect(await sweep()).toBe(0);
    expect(await headOf(id)).toMatchObject({ head: sha("a"), misses: 0 });
    heads.set(cloneUrl, sha("b"));
    expect(await sweep()).toBe(0);
    await due(id);
    expect(await sweep()).toBe(1);
    await due(id);
    expect(await sweep()).toBe(0);
    const [made, ...more] = await raisedFor(id);
    expect(more).toEqual([]);
    expect(made).toMatchObject({ branch: "main", beforeSha: sha("a"), commitSha: sha("b") });
    const shown = await organization.call("GET", `/api/deployments/${made?.id}`);
    expect(shown.body.data).toMatchObject({ trigger: "reconcile", createdBy: organization.userId });
  });

  test("raises one deployment however many replicas look at once", async () => {
    const { id, cloneUrl } = await watched();
    heads.set(cloneUrl, sha("a"));
    await sweep();
    heads.set(cloneUrl, sha("b"));
    await due(id);
    const raised = await Promise.all([sweep(), sweep(), sweep()]);
    expect(raised.sort()).toEqual([0, 0, 1]);
    expect(looks).toHaveLength(2);
    // Even where one took so long that another had its turn as well.
    heads.set(cloneUrl, sha("c"));
    await due(id);
    let again = true;
    meanwhile = async () => {
      if (!again) return;
      again = false;
      await due(id);
      await sweep();
    };
    await sweep();
    expect((await raisedFor(id)).map(({ commitSha }) => commitSha)).toEqual([sha("b"), sha("c")]);
  });

  test("makes no second deployment of a push that is delivered meanwhile, before or after the look", async () => {
    const edge = edgeUnderTest(scene.db);
    const id = await seedProject(scene);
    const ready = await watched();
    const { organizationId } = scene;
    await platform.db.update(servers).set({ organizationId }).where(eq(servers.id, ready.serverId));
    await platform.db.update(projects).set({ serverId: ready.serverId }).where(eq(projects.id, id));
    const url = `https://github.com/${scene.repository}.git`;
    heads.set(url, sha("a")).set(ready.cloneUrl, sha("a"));
    await sweep();
    heads.set(url, sha("b"));
    await due(id);
    meanwhile = () => deliver(edge, push(scene));
    expect(await sweep()).toBe(0);
    meanwhile = async () => undefined;
    await due(id);
    expect(await sweep()).toBe(0);
    heads.set(url, sha("c"));
    await due(id, { pushedAt: new Date(0) });
    expect(await sweep()).toBe(1);
    await deliver(edge, push(scene, { before: sha("b"), after: sha("c") }));
    const made = await platform.db.select().from(deployments).where(eq(deployments.projectId, id));
    expect(made.map(({ trigger }) => trigger)).toEqual(["push", "reconcile"]);
  });

  test("leaves a head alone that is deployed already, or that a deployment under way is going to fetch", async () => {
    const { id, cloneUrl, organization } = await watched();
    heads.set(cloneUrl, sha("a"));
    await sweep();
    const { body } = await organization.call("POST", "/api/deployments", { projectId: id });
    heads.set(cloneUrl, sha("b"));
    await due(id);
    expect(await sweep()).toBe(0);
    expect(await headOf(id)).toMatchObject({ head: sha("a") });
    await platform.db
      .update(operations)
      .set({ state: "ready", final: true })
      .where(eq(operations.id, body.data.id));
    await platform.db
      .update(deployments)
      .set({ commitSha: sha("b") })
      .where(eq(deployments.id, body.data.id));
    await due(id);
    expect(await sweep()).toBe(0);
    expect(await headOf(id)).toMatchObject({ head: sha("b") });
  });

  test("is not stopped by a server or a repository that does not answer, and looks there less and less often", async () => {
    const gone = await watched();
    const empty = await watched();
    const well = await watched();
    heads.set(well.cloneUrl, sha("a")).set(empty.cloneUrl, "");
    for (let round = 1; round <= 3; round++) {
      await sweep();
      expect(await headOf(gone.id)).toMatchObject({ head: null, misses: round });
      expect(await headOf(empty.id)).toMatchObject({ head: null, misses: round });
      expect(await headOf(well.id)).toMatchObject({ head: sha("a"), misses: 0 });
      const row = await headOf(gone.id);
      expect((row?.nextLookAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(300_000 * 0.8 * 2 ** (round - 1));
      await due(gone.id);
      await due(empty.id);
    }
    const told = log.lines.filter(({ level, fields }) => level === "warn" && fields["projectId"] === gone.id);
    expect(told).toHaveLength(1);
    heads.set(gone.cloneUrl, sha("a"));
    await sweep();
    expect(await headOf(gone.id)).toMatchObject({ head: sha("a"), misses: 0 });
  });

  test("tells the log what failed, and nothing of what the git host said", async () => {
    const { id, cloneUrl } = await watched();
    heads.set(cloneUrl, "refused");
    await sweep();
    const told = log.lines.filter(({ fields }) => fields["projectId"] === id);
    expect(told).toMatchObject([{ level: "warn", fields: { code: "git_failed" } }]);
    expect(told[0]?.fields).not.toHaveProperty("err");
    expect(JSON.stringify(told)).not.toContain("token-0123456789");
  });

  test("deploys where the project is after the look: on its new server, and nothing here once it is in the cloud", async () => {
    const moved = await watched();
    const promoted = await watched();
    const serverId = await platform.addServer(moved.organization);
    for (const each of [moved, promoted]) heads.set(each.cloneUrl, sha("a"));
    await sweep();
    for (const each of [moved, promoted]) {
      heads.set(each.cloneUrl, sha("b"));
      await due(each.id);
    }
    meanwhile = async () => {
      await platform.db.update(projects).set({ serverId }).where(eq(projects.id, moved.id));
      await platform.db.update(projects).set({ location: "cloud" }).where(eq(projects.id, promoted.id));
    };
    expect(await sweep()).toBe(1);
    expect(await raisedFor(moved.id)).toMatchObject([{ serverId, commitSha: sha("b") }]);
    expect(await raisedFor(promoted.id)).toEqual([]);
  });

  test("looks only at what deploys by itself, and begins anew after a change of branch or of mind", async () => {
    const { id, cloneUrl } = await watched();
    const off = await watched({ autoDeploy: false });
    const folder = await watched({ source: { kind: "upload" }, repository: null });
    heads.set(cloneUrl, sha("a"));
    await sweep();
    expect(looks).toEqual([cloneUrl]);
    expect([await headOf(off.id), await headOf(folder.id)]).toEqual([undefined, undefined]);
    heads.set(cloneUrl, sha("b"));
    await platform.db.update(projects).set({ autoDeploy: false }).where(eq(projects.id, id));
    await sweep();
    await platform.db.update(projects).set({ autoDeploy: true }).where(eq(projects.id, id));
    expect(await sweep()).toBe(0);
    expect(await headOf(id)).toMatchObject({ head: sha("b") });
    await platform.db.update(projects).set({ branch: "next" }).where(eq(projects.id, id));
    await due(id);
    await sweep();
    expect(await headOf(id)).toMatchObject({ head: null, source: expect.stringMatching(/ next$/) });
  });
});

test("of what ls-remote prints, only the ref that was asked for counts", () => {
  const main = "refs/heads/main";
  const trap = `${sha("e")}\trefs/tricks/${main}\n${sha("a")}\t${main}\n`;
  expect(readHead(trap, main, "main")).toEqual({ branch: "main", commitSha: sha("a") });
  const pointed = `ref: refs/heads/trunk\tHEAD\n${sha("b")}\tHEAD\n`;
  expect(readHead(pointed, "HEAD", null)).toEqual({ branch: "trunk", commitSha: sha("b") });
  expect(readHead(`${sha("b")}\tHEAD\n`, "HEAD", null)).toEqual({ branch: null, commitSha: sha("b") });
  for (const odd of ["-x", "a:b", "\u001b[2Jmain", "x".repeat(300)]) {
    const named = readHead(`ref: refs/heads/${odd}\tHEAD\n${sha("b")}\tHEAD\n`, "HEAD", null);
    expect(named).toEqual({ branch: null, commitSha: sha("b") });
  }
  for (const nothing of ["", "\n", `no sha\t${main}\n`]) expect(readHead(nothing, main, "main")).toBeNull();
});
