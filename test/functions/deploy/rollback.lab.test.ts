import { and, eq, isNotNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { namesOf } from "../../../functions/deploy/pipeline/names.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { quickClock } from "../../quick-clock.ts";
import { type DeploymentBody, type LabProject, type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp, serverSource, stubborn } from "./sample-apps.ts";

describeWithLab("rollback and clean-up on a real server", (lab) => {
  const clock = quickClock();
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab, { clock });
  });
  afterAll(() => world.close());

  const post = (path: string, body?: unknown) => world.organization.call("POST", path, body);
  const deployed = async (project: LabProject, said: string): Promise<DeploymentBody> => {
    await project.commit({ "app.js": serverSource(said, "WORD") });
    const done = await project.deploy();
    expect(done).toMatchObject({ status: "ready", error: null });
    return done;
  };
  const setWord = (project: LabProject, word: string) => world.setEnv(project.id, { WORD: word });

  /** Makes the waiting clean-up due and waits for its end. */
  const cleanUp = async (project: LabProject) => {
    const { db } = world.platform;
    const subject = eq(operations.subjectId, `clean-up:${project.id}`);
    await db
      .update(operations)
      .set({ runAfter: new Date() })
      .where(and(subject, eq(operations.state, "queued")));
    await expect
      .poll(
        async () => {
          await world.runner?.sweep();
          const open = await db
            .select()
            .from(operations)
            .where(and(subject, eq(operations.final, false)));
          return open.length;
        },
        { timeout: 60_000, interval: 200 },
      )
      .toBe(0);
    const done = await db
      .select()
      .from(operations)
      .where(and(subject, eq(operations.state, "failed")));
    expect(done.map(({ error }) => error)).toEqual([]);
  };
  const containersOf = async (project: LabProject) => {
    const filter = `label=slipway.project=${project.id}`;
    const format = '{{.Label "slipway.deployment"}}';
    const text = await lab.server.read(["docker", "ps", "-a", "--filter", filter, "--format", format]);
    return text.split("\n").filter((line) => line !== "");
  };
  const imagesOf = async (project: LabProject) => {
    const { imageRepository } = namesOf({ id: "", projectId: project.id });
    const text = await lab.server.read(["docker", "image", "ls", "--format", "{{.Tag}}", imageRepository]);
    return text
      .split("\n")
      .filter((line) => line !== "")
      .sort();
  };
  const tags = (...all: DeploymentBody[]) => all.map(({ id }) => id.toLowerCase()).sort();

  it("goes back to a kept image without git, with the environment of then", async () => {
    const project = await world.project(dockerApp("zero", "WORD"), {}, { WORD: "then" });
    const first = await deployed(project, "one");
    await setWord(project, "now");
    await deployed(project, "two");
    expect((await project.get()).body).toBe("two\nnow");
    await lab.git.git(project.owner, project.repo, ["config", "http.uploadpack", "false"]);

    const answer = await post(`/api/deployments/${first.id}/rollback`);
    expect([answer.status, answer.body.data]).toMatchObject([
      202,
      { trigger: "rollback", mode: "image", rollbackOf: first.id, commitSha: first.commitSha },
    ]);
    const done = await project.settled(answer.body.data.id);
    expect(done).toMatchObject({ status: "ready", isActive: true, error: null });
    expect(Object.keys(done.phases)).toEqual(["queue", "release", "health", "switch"]);
    expect((await project.get()).body).toBe("one\nthen");
    const again = await post(`/api/deployments/${done.id}/rollback`);
    expect([again.status, again.body]).toMatchObject([400, { success: false, code: "already_active" }]);
  });

  it("builds the commit of then where the image is gone", async () => {
    const project = await world.project(dockerApp("zero", "WORD"), { rollbackWindow: 0 });
    const first = await deployed(project, "one");
    await deployed(project, "two");
    await cleanUp(project);
    const answer = await post(`/api/deployments/${first.id}/rollback`);
    expect(answer.body.data).toMatchObject({ mode: "rebuild", rollbackOf: first.id });
    expect(await project.settled(answer.body.data.id)).toMatchObject({ status: "ready", error: null });
    expect((await project.get()).body).toBe("one\n");

    const third = await deployed(project, "three");
    const fourth = await deployed(project, "four");
    await lab.server.read(["docker", "rm", "-f", `slipway-${third.id.toLowerCase()}`]);
    await lab.server.read([
      "docker",
      "image",
      "rm",
      "-f",
      namesOf({ id: third.id, projectId: project.id }).image,
    ]);
    const surprise = await post(`/api/deployments/${third.id}/rollback`);
    expect(surprise.body.data.mode).toBe("image");
    expect(await project.settled(surprise.body.data.id)).toMatchObject({ status: "ready", mode: "rebuild" });
    expect((await project.get()).body).toBe("three\n");
    expect(fourth.id).not.toBe(third.id);
  });

  it("keeps the active image, the window and what is pinned, and removes the rest and nothing else", async () => {
    const project = await world.project(dockerApp("zero", "WORD"), { rollbackWindow: 1 });
    const other = await world.project(dockerApp("neighbour"));
    await other.deploy();
    const pinned = await deployed(project, "one");
    expect((await post(`/api/deployments/${pinned.id}/pin`)).body.data.pinned).toBe(true);
    await project.commit({ "app.js": stubborn(serverSource("two", "WORD")) });
    const second = await project.deploy();
    expect(second).toMatchObject({ status: "ready", error: null });
    const third = await deployed(project, "three");
    const fourth = await deployed(project, "four");
    await cleanUp(project);

    expect(await imagesOf(project)).toEqual(tags(pinned, third, fourth));
    expect(await containersOf(project)).toEqual([fourth.id]);
    expect((await project.get()).body).toBe("four\n");
    expect((await other.get()).body).toBe("neighbour");
    const rows = await world.platform.db
      .select()
      .from(deployments)
      .where(eq(deployments.projectId, project.id));
    const holders = rows.filter(({ hostPort }) => hostPort !== null).map(({ id }) => id);
    expect(holders).toEqual([fourth.id]);
    const kept = rows.filter(({ artifact }) => artifact === "kept").map(({ id }) => id);
    expect(kept.sort()).toEqual([pinned.id, third.id, fourth.id].sort());
    const folders = await lab.server.read(["ls", "/var/lib/slipway/operations"]);
    for (const { id } of [pinned, second, third, fourth]) expect(folders).not.toContain(id);
  });

  it("asks for a reachable server later again", async () => {
    const project = await world.project(dockerApp("x"));
    await project.deploy();
    const { db } = world.platform;
    await db.execute(
      sql`update servers set host = '192.0.2.1', port = 1, revision = revision + 1 where id = ${world.serverId}`,
    );
    const beforeMs = clock.nowMs();
    clock.run(10);
    try {
      await db
        .update(operations)
        .set({ runAfter: new Date() })
        .where(eq(operations.subjectId, `clean-up:${project.id}`));
      await world.runner?.sweep();
      const later = and(
        eq(operations.subjectId, `clean-up:${project.id}`),
        sql`progress ->> 'attempt' = '1'`,
      );
      await expect
        .poll(async () => (await db.select().from(operations).where(later)).length, {
          timeout: 100_000,
          interval: 500,
        })
        .toBe(1);
      expect(clock.nowMs() - beforeMs).toBeGreaterThan(limits.serverLostMs);
    } finally {
      clock.run(1);
      await db.execute(
        sql`update servers set host = ${lab.server.host}, port = ${lab.server.port}, revision = revision + 1 where id = ${world.serverId}`,
      );
    }
    const active = and(eq(projects.id, project.id), isNotNull(projects.activeDeploymentId));
    expect(await db.select().from(projects).where(active)).toHaveLength(1);
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
