/** A push that the branch has moved on from deploys nothing (decisions.md section 5). */
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { branchHeads } from "../../../shared/db/delivery-tables.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject, sha } from "./scene.ts";

const scene = openScene();

async function pushed(edge: ReturnType<typeof edgeUnderTest>, path: string, ref = "refs/heads/main") {
  const [before = "", after = ""] = path;
  const answer = await deliver(edge, push(scene, { ref, before: sha(before), after: sha(after) }));
  return ((await answer.json()) as { status: string }).status;
}

const commits = async (projectId: string) =>
  (await deploymentsOf(scene, projectId)).map(({ commitSha }) => commitSha?.charAt(0)).join("");

describe("a push whose commit is an ancestor of a newer deployment's", () => {
  test("ends ignored, reason stale, with the reason for the project too", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    expect(await pushed(edge, "bc")).toBe("done");
    expect(await pushed(edge, "cd")).toBe("done");
    expect(await pushed(edge, "ab")).toBe("ignored");
    expect(await commits(projectId)).toBe("cd");
    expect(await rowsOf(scene)).toContainEqual(
      expect.objectContaining({
        status: "ignored",
        reason: "stale",
        outcomes: [{ projectId, verdict: "skipped", reason: "stale" }],
        branch: "main",
        commitSha: sha("b"),
        repository: scene.repository.toLowerCase(),
      }),
    );
  });

  test("deploys all the same when it went back there by force", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    for (const path of ["ab", "bc", "cd", "db"]) expect(await pushed(edge, path)).toBe("done");
    expect(await commits(projectId)).toBe("bcdb");
  });

  test("counts for its own branch only", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene, { branch: null });
    await pushed(edge, "bc");
    await scene.db.update(deployments).set({ branch: "other" }).where(eq(deployments.projectId, projectId));
    expect(await pushed(edge, "ab")).toBe("done");
  });
});

describe("after the reconcile job deployed a head", () => {
  test("the late pushes that led there make no second deployment", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    await pushed(edge, "0a");
    await pushed(edge, "ac");
    await scene.db
      .update(deployments)
      .set({ trigger: "reconcile" })
      .where(eq(deployments.commitSha, sha("c")));
    expect(await pushed(edge, "ab")).toBe("ignored");
    expect(await pushed(edge, "bc")).toBe("ignored");
    expect((await rowsOf(scene)).map(({ reason }) => reason)).toEqual([
      null,
      null,
      "stale",
      "duplicate_push",
    ]);
    expect(await commits(projectId)).toBe("ac");
  });
});

test("a push that deploys is the last head seen of its branch; one that is ignored is not", async () => {
  const edge = edgeUnderTest(scene.db);
  const projectId = await seedProject(scene);
  await pushed(edge, "bc");
  await pushed(edge, "ab");
  const heads = await scene.db.select().from(branchHeads).where(eq(branchHeads.projectId, projectId));
  const source = `${scene.repository.toLowerCase()} main`;
  expect(heads).toMatchObject([{ head: sha("c"), source, pushedAt: expect.any(Date) }]);
});
