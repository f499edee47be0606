import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp, nodeApp, serverSource } from "./sample-apps.ts";

describeWithLab("a deployment on a real server", (lab) => {
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab);
  });
  afterAll(() => world.close());

  it("builds the repository's Dockerfile, answers through the proxy, and the next push replaces it", async () => {
    const project = await world.project(dockerApp("one", "GREETING"), {}, { GREETING: "good morning" });
    const first = await project.deploy();
    expect(first).toMatchObject({ status: "ready", isActive: true, artifact: "kept", error: null });
    expect(first.commitMessage).toBe("First");
    expect(first.urls).toEqual([`http://${project.slug}.localhost:${lab.server.httpPort}`]);
    expect(Object.keys(first.phases)).toEqual(["queue", "fetch", "build", "release", "health", "switch"]);
    expect(await project.get()).toEqual({ status: 200, body: "one\ngood morning" });

    const sha = await project.commit({ "app.js": serverSource("two", "GREETING") });
    const second = await project.deploy();
    expect(second).toMatchObject({ status: "ready", isActive: true, commitSha: sha, commitMessage: "Next" });
    expect(await project.get()).toEqual({ status: 200, body: "two\ngood morning" });
    const { body } = await world.organization.call("GET", `/api/deployments/${first.id}`);
    expect(body.data.isActive).toBe(false);
  });

  it("shows the same lines by stream and by REST, without a gap", async () => {
    const project = await world.project(dockerApp("logged"));
    const done = await project.deploy();
    const streamed = [];
    for await (const page of world.platform.feed.follow(done.id, 0, AbortSignal.timeout(10_000))) {
      streamed.push(...page);
    }
    expect(streamed.map(({ seq }) => seq)).toEqual(streamed.map((_, index) => index + 1));
    expect(streamed.at(-1)?.type).toBe("complete");
    const logs = await world.organization.call("GET", `/api/deployments/${done.id}/logs`);
    const lines = streamed.filter(({ type }) => type === "log");
    expect(logs.body.data.map(({ seq }: { seq: number }) => seq)).toEqual(lines.map(({ seq }) => seq));
    const text = await world.organization.call("GET", `/api/deployments/${done.id}/logs`, undefined, {
      accept: "text/plain",
    });
    expect(text.body).toBe(lines.map(({ data }) => `${data["line"]}\n`).join(""));
    expect(text.body).toContain("Building ");
  });

  it("detects a Node application, builds it with its environment and runs it without root", async () => {
    const project = await world.project(nodeApp("from node"), {}, { BUILD_WORD: 'it\'s "quoted" $HOME' });
    const done = await project.deploy();
    expect(done).toMatchObject({ status: "ready", error: null });
    expect((await project.get()).body).toBe('from node\n1000\nit\'s "quoted" $HOME');
  });

  it("serves plain files, and a site from its output directory", async () => {
    const plain = await world.project({ "index.html": "<h1>plain</h1>", ".env": "SECRET=1" });
    expect(await plain.deploy()).toMatchObject({ status: "ready", error: null });
    expect(await plain.get()).toMatchObject({ status: 200, body: "<h1>plain</h1>" });
    expect((await plain.get("/.env")).status).toBe(404);

    const built = await world.project(
      {
        "package.json": JSON.stringify({ scripts: { build: "node build.js" } }),
        "build.js": `const fs = require("fs"); fs.mkdirSync("out/a b", { recursive: true }); fs.writeFileSync("out/a b/index.html", "made");`,
      },
      { build: { outputDirectory: "out/a b" } },
    );
    expect(await built.deploy()).toMatchObject({ status: "ready", error: null });
    expect(await built.get()).toMatchObject({ status: 200, body: "made" });
  });

  it("builds in the root directory of the project, and refuses one that leads out of the repository", async () => {
    const files = { "apps/web/index.html": "nested", "index.html": "top" };
    const project = await world.project(files, { rootDirectory: "apps/web" });
    expect(await project.deploy()).toMatchObject({ status: "ready" });
    expect((await project.get()).body).toBe("nested");

    const missing = await world.project(files, { rootDirectory: "apps/none" });
    expect(await missing.deploy()).toMatchObject({
      status: "failed",
      error: { code: "root_directory_not_found" },
    });
  });

  it("deploys the very commit that was asked for, also from a host that hands out branches only", async () => {
    const project = await world.project({ "index.html": "first" });
    const sha = await lab.git.head(project.owner, project.repo);
    await project.commit({ "index.html": "second" });
    await lab.git.git(project.owner, project.repo, ["config", "uploadpack.allowAnySHA1InWant", "false"]);
    expect(await project.deploy({ commitSha: sha })).toMatchObject({ status: "ready", commitSha: sha });
    expect((await project.get()).body).toBe("first");
  });

  describe("with hostile values", () => {
    const nasty = "$(touch /tmp/pwned) `touch /tmp/pwned` '; touch /tmp/pwned; \" | & > < \\ %s {{.ID}}";

    it("passes every value of the environment byte for byte", async () => {
      const env = {
        NASTY: nasty,
        LINES: `a\n'b'\n$(touch /tmp/pwned)\n\tc `,
        SPACES: "  both ends  ",
        HASH: "#no comment",
        EMPTY: "",
        LD_PRELOAD_LIKE: "x",
        DOCKER_HOST: "tcp://192.0.2.1:1",
        name: "not the script's",
        image: "evil\nimage",
        LONG: "x".repeat(65_000),
      };
      const names = Object.keys(env).filter((name) => name !== "LONG");
      const source = `require("http").createServer((q, s) => s.end(JSON.stringify([${names.map((name) => `process.env[${JSON.stringify(name)}]`).join(",")}, (process.env.LONG || "").length]))).listen(process.env.PORT);`;
      const project = await world.project({ ...dockerApp(""), "app.js": source }, {}, env);
      expect(await project.deploy()).toMatchObject({ status: "ready", error: null });
      const values = JSON.parse((await project.get()).body);
      expect(values).toEqual([...names.map((name) => env[name as keyof typeof env]), 65_000]);
    });

    it("runs commands in the build only, and takes every other field as data", async () => {
      const project = await world.project(
        { "app.js": serverSource("safe"), "package.json": "{}" },
        {
          branch: "main",
          build: {
            installCommand: "--mount=type=bind true \\",
            buildCommand: 'echo $((40 + 2)) <<EOF && echo "it\'s built"',
            startCommand: "exec node app.js # $(touch /tmp/pwned)",
          },
          healthCheck: { path: "/$(touch$IFS/tmp/pwned)`touch$IFS/tmp/pwned`'\"" },
        },
      );
      const failed = await project.deploy();
      expect(failed).toMatchObject({ status: "failed", error: { code: "build_failed" } });
      await world.platform.db.execute(
        `update projects set build = build - 'installCommand' || '{"buildCommand": "echo \\"it''s built\\""}' where id = '${project.id}'`,
      );
      expect(await project.deploy()).toMatchObject({ status: "ready", error: null });
      expect((await lab.server.exec(["ls", "/tmp/pwned"])).code).not.toBe(0);
    });

    it("hands a branch of any spelling to git as one word", async () => {
      const project = await world.project({ "index.html": "x" });
      const branch = "a'b$(touch$IFS/tmp/pwned)`x`;\"|&";
      const failed = await project.deploy({ branch });
      expect(failed).toMatchObject({ status: "failed", error: { code: "git_branch_not_found" } });
      await project.commit({ "index.html": "branched" }, branch);
      expect(await project.deploy({ branch })).toMatchObject({ status: "ready", branch });
      expect((await project.get()).body).toBe("branched");
      expect((await lab.server.exec(["ls", "/tmp/pwned"])).code).not.toBe(0);
    });

    it("keeps values of the environment out of the log, however they are printed", async () => {
      const secret = 's3cr3t-value/+with "quotes"';
      const project = await world.project(
        {
          "package.json": JSON.stringify({ scripts: { build: "node build.js", start: "node app.js" } }),
          "build.js": `/* ${Math.random()} */ const s = process.env.TOKEN; console.log(s, Buffer.from(s).toString("base64"), JSON.stringify({ s }), encodeURIComponent(s)); console.log("length", s.length);`,
          "app.js": `console.error("boot", process.env.TOKEN); process.exit(3);`,
        },
        {},
        { TOKEN: secret },
      );
      const done = await project.deploy();
      expect(done).toMatchObject({ status: "failed", error: { code: "container_exited" } });
      expect(done.error.message).toContain("status 3");
      const events = [];
      for await (const page of world.platform.feed.follow(done.id, 0, AbortSignal.timeout(10_000))) {
        events.push(...page);
      }
      const all = JSON.stringify([events, done]);
      expect(all).toContain(`length ${secret.length}`);
      expect(all).toContain("boot [redacted]");
      expect(all).not.toContain("s3cr3t");
      expect(all).not.toContain(Buffer.from(secret).toString("base64").slice(0, 24));
    });
  });

  it("leaves no secret in an argument list or a file of the server", async () => {
    const secret = `marker-${"q".repeat(20)}`;
    const project = await world.project(dockerApp("quiet", "TOKEN"), {}, { TOKEN: secret });
    const done = await project.deploy();
    expect(done).toMatchObject({ status: "ready" });
    const { code, stdout } = await lab.server.exec(["grep", "-rl", secret, "/var/lib/slipway"]);
    expect([code, stdout]).toEqual([1, ""]);
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
