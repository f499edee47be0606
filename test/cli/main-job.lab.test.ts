/** The main job by command alone, on the whole platform and a real server: the counterpart of the scripted one. */
import { writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readConfiguration } from "../../functions/configuration.ts";
import { type OneProcess, startInOneProcess } from "../../functions/one-process.ts";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import { openTestDatabase, type TestDatabase } from "../database.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { silentLog } from "../silent-log.ts";
import { type Home, openHome } from "./run-cli.ts";

describeWithLab("the CLI on a real server", ({ server, git }) => {
  const owner = "cli-main-job";
  let database: TestDatabase;
  let platform: OneProcess;
  let home: Home;
  let port: number;

  beforeAll(async () => {
    database = await openTestDatabase();
    home = await openHome({ DATABASE_URL: database.url });
    const folder = await openDataFolder(join(home.path, "platform"), { purpose: "platform" });
    const surroundings = { isRoot: false, workingDirectory: tmpdir() };
    platform = await startInOneProcess({
      configuration: { ...readConfiguration({ DATABASE_URL: database.url }, surroundings), port: 0 },
      databaseUrl: database.url,
      aloneOnDatabase: true,
      secrets: await loadInstanceSecrets(folder),
      version: "0.0.0-test",
      log: silentLog,
    });
    folder.release();
    port = server.httpPort;
    await git.createRepository(owner, "web");
    await git.commit(owner, "web", { files: { "index.html": "one" } });
    await writeFile(join(home.path, "key"), server.privateKey, { mode: 0o600 });
  });
  afterAll(async () => {
    await platform.close();
    await home.close();
    await database.close();
  });

  it("goes from an empty instance to a live address, and back to the version before", async () => {
    const password = { stdin: "correct horse battery\n" };
    const made = await cli(
      ["init", "--org", "Acme", "--email", "ada@example.com", "--password-stdin"],
      password,
    );
    await cli(["login", platform.url, "--token-stdin"], { stdin: made.token });
    await cli(
      ["server", "add", "web-1", "--host", server.host, "--port", `${server.port}`, "--user", "root"].concat(
        ["--key", join(home.path, "key"), "--host-key", server.hostKey],
        ["--http-port", `${port}`, "--https-port", `${server.httpsPort}`],
      ),
    );
    expect(await cli(["server", "bootstrap", "web-1"])).toMatchObject({ bootstrapped: true });
    expect(await cli(["server", "check", "web-1"])).toMatchObject({ ok: true, ready: true });
    const source = ["--repo", `${owner}/web`, "--branch", "main", "--clone-url", git.url(owner, "web")];
    await cli(["project", "create", "cli-web", "--server", "web-1", ...source]);

    const first = await cli(["deploy", "cli-web", "--follow"]);
    expect(first).toMatchObject({ status: "ready", trigger: "cli", isActive: true });
    expect(await answer(first.urls[0])).toBe("one");

    await git.commit(owner, "web", { files: { "index.html": "two" } });
    const shown = await home.run(["redeploy", "cli-web", "--follow"]);
    expect([shown.code, shown.stdout]).toEqual([
      0,
      expect.stringMatching(/✓ ready after .*\n {2}http:\/\/cli-web\./),
    ]);
    expect(await answer(first.urls[0])).toBe("two");

    expect(await cli(["rollback", "cli-web", "--follow"])).toMatchObject({
      status: "ready",
      rollbackOf: first.id,
    });
    expect(await answer(first.urls[0])).toBe("one");

    const lines: { seq: number }[] = await cli(["logs", first.id]);
    const events = await home.run(["logs", "--follow", first.id, "--json"]);
    const followed = events.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(followed.at(-1).type).toBe("complete");
    const logged = followed.filter(({ type }) => type === "log");
    expect(lines.map(({ seq }) => seq)).toEqual(logged.map(({ seq }) => seq));

    const overview = await home.run(["status"]);
    expect(overview.stdout).toMatch(/cli-web\s+web-1\s+ready/);
    await cli(["project", "delete", "cli-web", "--yes"]);
  });

  /** A command with `--json` that must succeed; answers what it printed. */
  async function cli(argv: readonly string[], options: { stdin?: string } = {}) {
    const { code, stdout, stderr } = await home.run([...argv, "--json"], { ...options, deadlineMs: 150_000 });
    expect([argv.join(" "), code, stderr]).toEqual([argv.join(" "), 0, ""]);
    return JSON.parse(stdout);
  }

  /** `fetch` sets the Host header itself, and `.localhost` names need not resolve. */
  function answer(url: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { host } = new URL(url);
      const asked = get({ host: "127.0.0.1", port, headers: { host }, timeout: 10_000 }, (response) => {
        text(response).then(resolve, reject);
      });
      asked.on("timeout", () => asked.destroy(new Error("no answer within 10 s"))).on("error", reject);
    });
  }
});
