/** What is verified and deploys nothing is acknowledged and says why. */
import { describe, expect, test } from "vitest";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject } from "./scene.ts";

const scene = openScene();

describe("a verified delivery that deploys nothing is acknowledged with its reason", () => {
  test.each([
    ["a tag", { ref: "refs/tags/v1" }, "not_a_branch"],
    ["a deleted branch", { deleted: true, after: "0".repeat(40) }, "branch_deleted"],
    ["a branch deleted by zeros", { deleted: undefined, after: "0".repeat(40) }, "branch_deleted"],
    ["another branch", { ref: "refs/heads/other" }, "no_matching_project"],
    ["a push without its commits", { after: "main" }, "malformed_push"],
    ["a ref that is no text", { ref: 7 }, "malformed_push"],
  ])("%s", async (_what, changes, reason) => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const answer = await deliver(edge, push(scene, changes));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    expect(await rowsOf(scene)).toMatchObject([{ status: "ignored", reason }]);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
  });

  test.each([
    ["ping", "ping"],
    ["installation", "event_not_handled"],
    ["check_run", "event_not_handled"],
    [null, "no_event_header"],
  ])("the event %s", async (event, reason) => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const answer = await deliver(edge, push(scene), { event });
    expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    expect(await rowsOf(scene)).toMatchObject([{ status: "ignored", reason }]);
  });

  test("every project that was looked at has its reason", async () => {
    const edge = edgeUnderTest(scene.db);
    const off = await seedProject(scene, { autoDeploy: false });
    const other = await seedProject(scene, { branch: "release" });
    const ofServices = await seedProject(scene, { kind: "compose" });
    const matching = await seedProject(scene);
    await deliver(edge, push(scene));
    const [row] = await rowsOf(scene);
    expect(row?.outcomes).toEqual(
      expect.arrayContaining([
        { projectId: off, verdict: "skipped", reason: "auto_deploy_off" },
        { projectId: other, verdict: "skipped", reason: "other_branch" },
        { projectId: ofServices, verdict: "skipped", reason: "services_not_deployable" },
        { projectId: matching, verdict: "deployed", deploymentId: expect.any(String) },
      ]),
    );
    expect(await deploymentsOf(scene, ofServices)).toEqual([]);
  });
});
