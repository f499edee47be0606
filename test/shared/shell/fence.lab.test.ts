/** Fences on a real server: an owner that was replaced cannot act. */
import { randomBytes } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { claimFence, FencedOut, fencedStep } from "../../../shared/shell/fence.ts";
import { fails } from "../../contract/shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { labTarget } from "./lab-target.ts";

const deadlineMs = 20_000;

describeWithLab("a fence", (lab) => {
  const shell = createSsh2Shell();
  const target = labTarget(lab.server, { user: "admin" });
  const fresh = () => `prj_${randomBytes(6).toString("hex")}`;
  afterAll(() => shell.close());

  it("lets the owner of the highest token act, with arguments and input untouched", async () => {
    const resource = fresh();
    await claimFence(shell, target, { resource, token: 7, deadlineMs });
    const script = 'printf "%s|%s|" "$1" "$2"; cat; id -u; exit 3';
    const result = await fencedStep(shell, target, {
      resource,
      token: 7,
      script,
      args: ["$(id)", "a b'"],
      stdin: "in\n",
      deadlineMs,
    });
    expect(result).toMatchObject({ code: 3, stdout: "$(id)|a b'|in\n0\n" });
  });

  it("refuses a lower token, to a step and to a claim, and nothing is done", async () => {
    const resource = fresh();
    await claimFence(shell, target, { resource, token: 7, deadlineMs });
    await claimFence(shell, target, { resource, token: 12, deadlineMs });
    const mark = `/tmp/${resource}`;
    const late = fencedStep(shell, target, {
      resource,
      token: 7,
      script: 'touch "$1"',
      args: [mark],
      deadlineMs,
    });
    await expect(late).rejects.toMatchObject({ name: "FencedOut", holder: 12 });
    await expect(claimFence(shell, target, { resource, token: 11, deadlineMs })).rejects.toBeInstanceOf(
      FencedOut,
    );
    expect((await lab.server.exec(["test", "-e", mark])).code).toBe(1);
  });

  it("refuses a step where nobody has claimed", async () => {
    const step = fencedStep(shell, target, { resource: fresh(), token: 1, script: "true", deadlineMs });
    await expect(step).rejects.toMatchObject({ name: "FencedOut", holder: null });
  });

  it("remembers a higher token that acted without a claim of its own", async () => {
    const resource = fresh();
    await claimFence(shell, target, { resource, token: 1, deadlineMs });
    await fencedStep(shell, target, { resource, token: 5, script: "true", deadlineMs });
    const late = fencedStep(shell, target, { resource, token: 4, script: "true", deadlineMs });
    await expect(late).rejects.toMatchObject({ holder: 5 });
  });

  it("lets one step act at a time; who waits too long is told so", async () => {
    const resource = fresh();
    await claimFence(shell, target, { resource, token: 1, deadlineMs });
    const counter = `/tmp/${resource}`;
    const script = 'n=$(cat "$1" 2>/dev/null || echo 0); sleep 0.02; echo $((n + 1)) >"$1"';
    const steps = Array.from({ length: 8 }, () =>
      fencedStep(shell, target, { resource, token: 1, script, args: [counter], deadlineMs }),
    );
    await Promise.all(steps);
    expect(await lab.server.read(["cat", counter])).toBe("8");
    const slow = fencedStep(shell, target, {
      resource,
      token: 1,
      script: 'touch "$1.slow"; sleep 3',
      args: [counter],
      deadlineMs,
    });
    await expect.poll(async () => (await lab.server.exec(["test", "-e", `${counter}.slow`])).code).toBe(0);
    await fails(
      "deadline",
      fencedStep(shell, target, { resource, token: 1, script: "true", lockWaitSeconds: 1, deadlineMs }),
    );
    await slow;
  });

  it("takes a step's own exit status 75 for what it is", async () => {
    const resource = fresh();
    await claimFence(shell, target, { resource, token: 1, deadlineMs });
    expect(
      (await fencedStep(shell, target, { resource, token: 1, script: "exit 75", deadlineMs })).code,
    ).toBe(75);
  });

  it("has no name that could leave its folder", async () => {
    for (const resource of ["../x", "a/b", "", "-x", "a b", "a\nb", "a$b"]) {
      await expect(claimFence(shell, target, { resource, token: 1, deadlineMs })).rejects.toThrow(RangeError);
    }
  });
});
