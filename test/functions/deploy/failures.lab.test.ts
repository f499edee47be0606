import { afterAll, beforeAll, expect, it } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { quickClock } from "../../quick-clock.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp, serverSource } from "./sample-apps.ts";

describeWithLab("a deployment that fails on a real server", (lab) => {
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab);
  });
  afterAll(() => world.close());

  it("leaves the version before serving, whatever went wrong, and says what", async () => {
    const project = await world.project(dockerApp("good"));
    expect(await project.deploy()).toMatchObject({ status: "ready", error: null });

    await project.commit({ Dockerfile: "FROM node:24-bookworm-slim\nRUN echo the reason >&2; exit 7\n" });
    const build = await project.deploy();
    expect(build).toMatchObject({ status: "failed", isActive: false, error: { code: "build_failed" } });
    expect(build.error.logTail.join("\n")).toContain("the reason");
    expect(build.error.hint).toBeTruthy();

    await project.commit(dockerApp("x"));
    await project.commit({ "app.js": 'console.error("no database"); process.exit(4);' });
    const exited = await project.deploy();
    expect(exited).toMatchObject({ status: "failed", error: { code: "container_exited" } });
    expect(exited.error.message).toContain("status 4");
    expect(exited.error.logTail).toContain("no database");

    expect(await project.get()).toEqual({ status: 200, body: "good" });
  });

  it("asks the path that was set, and waits no longer than it may", async () => {
    const healthCheck = { path: "/sick", timeoutSeconds: 3 };
    const project = await world.project(dockerApp("sick"), { healthCheck });
    const failed = await project.deploy();
    expect(failed).toMatchObject({ status: "failed", error: { code: "health_check_failed" } });
    expect(failed.error.message).toContain("503");
    expect((await project.get()).status).toBe(404);
  });

  it("asks the image's own check where no path is set, and a port that nobody listens on is not well", async () => {
    const checked = await world.project({
      ...dockerApp("checked"),
      Dockerfile: `FROM node:24-bookworm-slim\nCOPY app.js /app.js\nHEALTHCHECK --interval=1h CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]\nCMD ["node", "/app.js"]\n`,
    });
    expect(await checked.deploy()).toMatchObject({ status: "ready", error: null });

    const deaf = await world.project(
      { ...dockerApp(""), "app.js": "setInterval(() => {}, 1000);" },
      { healthCheck: { timeoutSeconds: 2 } },
    );
    expect(await deaf.deploy()).toMatchObject({ status: "failed", error: { code: "health_check_failed" } });
  });

  it("says what is wrong with the source", async () => {
    const empty = await world.project({ "README.md": "nothing" });
    expect(await empty.deploy()).toMatchObject({ status: "failed", error: { code: "nothing_to_build" } });

    const gone = await world.project({ "index.html": "x" });
    expect(await gone.deploy({ commitSha: "1".repeat(40) })).toMatchObject({
      status: "failed",
      error: { code: "git_commit_not_found" },
    });
    expect(await gone.deploy({ branch: "nowhere" })).toMatchObject({
      status: "failed",
      error: { code: "git_branch_not_found" },
    });

    const source = { kind: "git", provider: "git_host", owner: "a", repo: "b" } as const;
    const at = (cloneUrl: string) =>
      world.project({ "index.html": "x" }, { source: { ...source, cloneUrl } });
    const nowhere = await at(lab.git.url("no", "such"));
    expect(await nowhere.deploy()).toMatchObject({ error: { code: "git_repository_not_found" } });
    const silent = await at("http://git.invalid/a/b.git");
    expect(await silent.deploy()).toMatchObject({ error: { code: "git_unreachable" } });
    const local = await at("file:///etc");
    expect(await local.deploy()).toMatchObject({ error: { code: "git_protocol_refused" } });
    const helper = await at("ext::sh -c touch% /tmp/pwned");
    expect(await helper.deploy()).toMatchObject({ error: { code: "git_protocol_refused" } });
    expect((await lab.server.exec(["ls", "/tmp/pwned"])).code).not.toBe(0);
  });

  it("does not follow links of a repository out of its source", async () => {
    const output = { build: { outputDirectory: "link" }, buildStrategy: "static" };
    for (const [values, code] of [
      [output, "nothing_to_build"],
      [{ rootDirectory: "link" }, "root_directory_not_found"],
    ] as const) {
      const project = await world.project({ target: "/etc" }, values);
      const git = (...args: string[]) => lab.git.git(project.owner, project.repo, args);
      await git("read-tree", "main");
      await git(
        "update-index",
        "--add",
        "--cacheinfo",
        `120000,${await git("rev-parse", "main:target")},link`,
      );
      const as = ["-c", "user.name=Lab", "-c", "user.email=lab@example.test"];
      const commit = await git(...as, "commit-tree", "-p", "main", "-m", "Link", await git("write-tree"));
      await git("update-ref", "refs/heads/main", commit);
      expect(await project.deploy()).toMatchObject({ status: "failed", commitSha: commit, error: { code } });
    }
  });

  it("puts the old container back where two must not run at once", async () => {
    const project = await world.project(dockerApp("old"), { updateStrategy: "recreate" });
    expect(await project.deploy()).toMatchObject({ status: "ready", error: null });
    await project.commit({ "app.js": "process.exit(1)" });
    expect(await project.deploy()).toMatchObject({ status: "failed", error: { code: "container_exited" } });
    await expect.poll(async () => (await project.get()).body, { timeout: 10_000 }).toBe("old");
    await project.commit({ "app.js": serverSource("new") });
    expect(await project.deploy()).toMatchObject({ status: "ready", error: null });
    expect((await project.get()).body).toBe("new");
  });

  it("fails when its server is lost for a minute, and never hangs", async () => {
    const server = await lab.startServer({ name: `lost-${Date.now().toString(36)}` });
    const clock = quickClock();
    const other = await openLabWorld(
      { server, git: lab.git },
      { shell: createSsh2Shell({ connectTimeoutMs: 3_000 }), clock },
    );
    try {
      const project = await other.project({
        Dockerfile: "FROM node:24-bookworm-slim\nRUN echo building now && sleep 600\n",
      });
      const started = await project.start();
      for await (const page of other.platform.feed.follow(started.id, 0, AbortSignal.timeout(60_000))) {
        if (page.some(({ data }) => String(data["line"]).includes("building now"))) break;
      }
      const beforeMs = clock.nowMs();
      await server.powerOff();
      clock.run(10);
      expect(await project.settled(started.id, 170_000)).toMatchObject({
        status: "failed",
        error: { code: "server_unreachable" },
      });
      expect(clock.nowMs() - beforeMs).toBeGreaterThan(limits.serverLostMs);
    } finally {
      await other.close();
      await server.remove();
    }
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
