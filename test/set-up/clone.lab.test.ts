import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const installMs = 10 * 60_000;

let clone: string;

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), "slipway-clone-"));
  const { stdout } = await run("git", ["ls-files", "-z"], { cwd: root });
  for (const file of stdout.split("\0").filter(Boolean)) {
    await cp(join(root, file), join(clone, file)).catch(onlyDeleted);
  }
});

afterAll(() => rm(clone, { recursive: true, force: true }), 60_000);

test("a bare clone installs by real npm, once for two starts at once, and then runs its tools", {
  timeout: installMs + 60_000,
}, async () => {
  const both = await Promise.all([1, 2].map(() => setUp(["exec", "vitest", "--version"])));
  for (const { stdout } of both) expect(stdout).toMatch(/^vitest\/.* node-v24\./);
  expect(both.map(({ stderr }) => stderr).join("")).toMatch(/Another start is installing/);
  for (const { stderr } of both) expect(stderr).not.toContain("EBADENGINE");

  const startMs = performance.now();
  const { stderr } = await setUp(["install"]);
  expect(stderr).toBe("");
  expect(performance.now() - startMs).toBeLessThan(1_000);
});

/** On whatever Node the machine has, as a person would start it. */
function setUp(argv: string[]) {
  const machinePath = (process.env["PATH"] ?? "")
    .split(":")
    .filter((entry) => !entry.includes("node_modules"));
  const { npm_execpath: _, ...environment } = process.env;
  return run("node", ["set-up.mjs", ...argv], {
    cwd: clone,
    env: { ...environment, PATH: machinePath.join(":") },
    timeout: installMs,
  });
}

/** A file that git knows and somebody has just removed. */
function onlyDeleted(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}
