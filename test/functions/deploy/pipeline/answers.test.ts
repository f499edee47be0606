import { describe, expect, it } from "vitest";
import { cloneUrlOf } from "../../../../functions/deploy/git-access.ts";
import { readBuiltImage } from "../../../../functions/deploy/pipeline/build.ts";
import { planRemoval, readThings } from "../../../../functions/deploy/pipeline/clean-up.ts";
import { explainFetch } from "../../../../functions/deploy/pipeline/explain-fetch.ts";
import { readInspection } from "../../../../functions/deploy/pipeline/inspect.ts";
import { namesOf } from "../../../../functions/deploy/pipeline/names.ts";
import { phasesOf, turnPhase } from "../../../../functions/deploy/pipeline/phases.ts";
import { probeArguments, readProbe } from "../../../../functions/deploy/pipeline/probe.ts";
import { readPortsInUse, readStarted } from "../../../../functions/deploy/pipeline/release.ts";

const id = "dep_01M7XYFHTF4F949VSHWC1EEFP0";
const other = "dep_01M7XYFJ236JA7XY6K51Q32YKX";

describe("why a fetch failed", () => {
  it.each([
    ["fatal: repository 'http://x/a/b.git/' not found", "git_repository_not_found"],
    ["fatal: unable to access 'http://x/': Could not resolve host: x", "git_unreachable"],
    ["fatal: unable to access 'http://x/': Operation too slow. Less than 1000 bytes/sec", "git_unreachable"],
    ["fatal: could not read Username for 'https://x': terminal prompts disabled", "git_not_allowed"],
    ["git@x: Permission denied (publickey).", "git_not_allowed"],
    ["Host key verification failed.", "git_host_key_changed"],
    ["fatal: unable to access 'http://x/': The requested URL returned error: 302", "git_redirected"],
    ["fatal: couldn't find remote ref refs/heads/gone", "git_branch_not_found"],
    ["fatal: transport 'file' not allowed", "git_protocol_refused"],
    ["error: No space left on device", "disk_full"],
    ["fatal: something new", "git_failed"],
  ])("%s", (line, code) => {
    const failure = explainFetch(128, ["noise", line]);
    expect(failure).toMatchObject({ code, logTail: ["noise", line] });
    expect(failure.hint).toBeTruthy();
  });

  it("is the commit when the script says so", () => {
    expect(explainFetch(3, []).code).toBe("git_commit_not_found");
    expect(explainFetch(127, []).code).toBe("server_not_ready");
  });

  it("clones from the address that was set, else from the default host", () => {
    const source = { kind: "git", provider: "git_host", owner: "a", repo: "b" } as const;
    expect(cloneUrlOf(source, null)).toBe("https://github.com/a/b.git");
    expect(cloneUrlOf({ ...source, cloneUrl: "http://x/y" }, null)).toBe("http://x/y");
  });
});

describe("what the server answers", () => {
  it("about a source, with any name and any package.json", () => {
    const sha = "a".repeat(40);
    const fields = [
      "commit",
      `${sha}\nTitle\n\nBody\n`,
      "buildkit",
      "yes",
      "file",
      "a\nb",
      "directory",
      "src",
    ];
    const report = readInspection(`${fields.map((part) => `${part}\0`).join("")}package\0{"a":"\0"}`);
    expect(report).toMatchObject({
      commitSha: sha,
      commitMessage: "Title\n\nBody",
      buildkit: true,
      rootFound: true,
    });
    expect(report.inspection).toEqual({
      files: ["a\nb"],
      directories: ["src"],
      packageJson: '{"a":"\0"}',
      outputExists: false,
    });
    expect(readInspection(`commit\0${sha}\nTitle\0root\0missing\0`).rootFound).toBe(false);
  });

  it("about an image, with and without ports", () => {
    const imageId = `sha256:${"b".repeat(64)}`;
    const image = (ports: unknown) => JSON.stringify({ Id: imageId, Config: { ExposedPorts: ports } });
    expect(readBuiltImage(image({ "80/tcp": {}, "53/udp": {} }))).toEqual({ imageId, exposed: [80] });
    expect(readBuiltImage(image(null))).toEqual({ imageId, exposed: [] });
    expect(() => readBuiltImage("")).toThrow();
  });

  it("about a container and its own check", () => {
    const container = (Healthcheck: unknown) =>
      readStarted(
        JSON.stringify({
          State: { Pid: 42 },
          NetworkSettings: { Networks: { any: { IPAddress: "172.18.0.2" } } },
          Config: { Healthcheck },
        }),
      );
    expect(container(null)).toEqual({ pid: 42, address: "172.18.0.2", check: null });
    const check = (Test: unknown) => container({ Test }).check;
    expect(check(["CMD", "curl", "x|y"])).toEqual(["curl", "x|y"]);
    expect(check(["CMD-SHELL", "exit 0"])).toEqual(["/bin/sh", "-c", "exit 0"]);
    expect(check(["NONE"])).toBeNull();
  });

  it("about ports in use", () => {
    const stdout =
      "127.0.0.1:20005->3000/tcp, 0.0.0.0:80->80/tcp\n0100007F:4E21\n00000000000000000000000000000000:0016\n";
    expect(readPortsInUse(stdout)).toEqual([20_005, 80, 20_001, 22]);
  });

  it("about health, and which question is asked", () => {
    expect(readProbe("healthy\n")).toEqual({ verdict: "healthy" });
    expect(readProbe("exited 137 true\nlast\n")).toEqual({
      verdict: "exited",
      status: "137",
      outOfMemory: true,
      lines: ["last"],
    });
    expect(readProbe("waiting HTTP/1.1 503 Nope\n")).toMatchObject({
      verdict: "waiting",
      last: "HTTP/1.1 503 Nope",
    });
    const ask = (path: string | undefined, check: string[] | null) =>
      probeArguments({
        container: "c",
        started: { pid: 1, address: "a", check },
        healthCheck: { path },
        containerPort: 3_000,
        hostname: "h",
        seconds: 8,
      });
    expect(ask("/up", ["x"])).toEqual(["c", "1", "http", "a", "3000", "/up", "h", "8"]);
    expect(ask(undefined, ["x", "y"])).toEqual(["c", "1", "exec", "a", "3000", "/", "h", "8", "x", "y"]);
    expect(ask(undefined, null)).toEqual(["c", "1", "tcp", "a", "3000", "/", "h", "8"]);
  });
});

describe("what is removed", () => {
  it("is what nothing needs, and never what is not known to be ours", () => {
    const things = readThings(
      [
        `container ${id}`,
        `container ${other}`,
        `image ${id.toLowerCase()}`,
        "image latest",
        `directory ${other}`,
        "rm -rf /",
      ].join("\n"),
    );
    expect(things).toHaveLength(4);
    const standing = { known: [id], running: [id], images: [], open: [] };
    expect(planRemoval(things, standing)).toEqual([
      { kind: "container", name: other },
      { kind: "image", name: id.toLowerCase() },
    ]);
    expect(planRemoval(things, { ...standing, open: [id, other] })).toEqual([]);
  });
});

describe("names on the server", () => {
  it("are made of the ids alone, and the marker is a private address", () => {
    const names = namesOf({ id, projectId: "prj_01M7" });
    expect(names).toMatchObject({
      image: `slipway/prj_01m7:${id.toLowerCase()}`,
      container: `slipway-${id.toLowerCase()}`,
    });
    expect(names.marker).toMatch(/^fd00(:[0-9a-f]{4}){7}$/);
    expect(namesOf({ id: other, projectId: "prj_01M7" }).marker).not.toBe(names.marker);
  });
});

describe("phases", () => {
  it("keep their first start and their first end, whoever owns the work", () => {
    const begun = turnPhase({}, { begun: "fetch", say: "Fetching" }, 1_000);
    expect(begun.events.map(({ type }) => type)).toEqual(["phase", "log"]);
    expect(turnPhase(begun.progress, { begun: "fetch", say: "Fetching" }, 5_000)).toEqual({
      events: [],
      progress: {},
    });
    const ended = turnPhase(begun.progress, { ended: "fetch", begun: "build" }, 3_500);
    const progress = { ...begun.progress, ...ended.progress };
    expect(phasesOf(progress)).toEqual({ fetch: 2_500 });
    expect(turnPhase(progress, { ended: "fetch" }, 9_000).events).toEqual([]);
  });
});
