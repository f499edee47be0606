/** A push names its branch in a ref that a stranger wrote: what git itself would not allow is recorded and goes no further. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { planDelivery } from "../../../edge/webhooks/git-push.ts";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject } from "./scene.ts";

const scene = openScene();

const refused = [
  ...["", "-", "-x", "--upload-pack=touch x", ".x", "a/.b", "x.lock", "a.lock/b", "a..b", "a//b", "/a", "a/"],
  ...[
    "x.",
    "a@{b",
    "a b",
    "a~b",
    "a^b",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "a\tb",
    "a\nb",
    "a\rb",
    "\u007f",
  ],
];
const allowed = [
  "main",
  "a/b",
  "a./b",
  "feature/x-1",
  "x@y",
  "$(id)",
  "a;b",
  "'x'",
  "grün",
  "x.locked",
  "HEAD/x",
];
const gitSays = (branch: string) => spawnSync("git", ["check-ref-format", "--branch", branch]).status === 0;
const planOf = (branch: string) => {
  const project = { id: "prj_1", organizationId: "org_1", kind: "app", autoDeploy: true, branch } as const;
  const payload = push(scene, { ref: `refs/heads/${branch}` });
  return planDelivery("push", payload, [{ ...project, location: "local" }]);
};

describe("the branch of a push", () => {
  test.each(refused)("%j is refused, by git as well, even for a project of that branch", (branch) => {
    expect([gitSays(branch), planOf(branch).reason]).toEqual([false, "invalid_ref"]);
    expect(planOf(branch).outcomes).toEqual([
      { projectId: "prj_1", verdict: "skipped", reason: "invalid_ref" },
    ]);
  });

  test.each(allowed)("%j is a branch, for git as well", (branch) => {
    expect([gitSays(branch), planOf(branch).outcomes[0]?.verdict]).toEqual([true, "deployed"]);
  });

  test.each([
    ["a zero byte", "refs/heads/a\u0000b"],
    ["half a character", "refs/heads/\ud800"],
    ["an option", "refs/heads/--upload-pack=touch x"],
    ["nothing", "refs/heads/"],
  ])("with %s is stored as ignored, with the reason, and named by nobody", async (_what, ref) => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene, { branch: null });
    const branch = ref.slice("refs/heads/".length);
    const repository = { full_name: scene.repository, default_branch: branch };
    const answer = await deliver(edge, push(scene, { ref, repository }));
    expect([answer.status, await answer.json()]).toMatchObject([200, { success: true, status: "ignored" }]);
    expect(await rowsOf(scene)).toMatchObject([{ status: "ignored", reason: "invalid_ref", branch: null }]);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
  });
});
