/** `init` and `token create` without a running platform (decisions.md section 2). */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../database.ts";
import { type Home, openHome } from "./run-cli.ts";

let database: TestDatabase;
let home: Home;

beforeAll(async () => {
  database = await openTestDatabase();
  home = await openHome({ DATABASE_URL: database.url });
});
afterAll(async () => {
  await home.close();
  await database.close();
});

const init = ["init", "--org", "Acme", "--email", "ada@example.com", "--password-stdin", "--json"];

describe("without a running platform", () => {
  it("token create says that there is no organization yet, and changes nothing", async () => {
    const { code, stdout, stderr } = await home.run(["token", "create", "--name", "ci", "--json"]);
    expect([code, stdout, JSON.parse(stderr).code]).toEqual([2, "", "not_initialized"]);
  });

  it("init refuses a weak password with exit code 2 and names the field", async () => {
    const { code, stdout, stderr } = await home.run(init, { stdin: "short\n" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "validation_failed", details: [{ path: "password" }] });
  });

  it("init prints only JSON with the first token", async () => {
    const { code, stdout, stderr } = await home.run(init, { stdin: "correct horse battery\n" });
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout).token).toMatch(/^slp_[0-9A-Za-z]{40,}$/);
  });

  it("init a second time exits 2 and changes nothing", async () => {
    const { code, stdout, stderr } = await home.run(init, { stdin: "correct horse battery\n" });
    expect([code, stdout, JSON.parse(stderr).code]).toEqual([2, "", "already_initialized"]);
  });

  it("token create prints only JSON with a token", async () => {
    const argv = ["token", "create", "--name", "ci", "--permission", "deployment:write", "--json"];
    const { code, stdout, stderr } = await home.run(argv);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout).token).toMatch(/^slp_[0-9A-Za-z]{40,}$/);
  });

  it("token create names a permission that does not exist", async () => {
    const { code, stderr } = await home.run([
      "token",
      "create",
      "--name",
      "ci",
      "--permission",
      "deploy",
      "--json",
    ]);
    expect([code, JSON.parse(stderr).error]).toEqual([2, 'There is no permission "deploy".']);
  });

  it("init asks nothing where there is no terminal, and says which option is missing", async () => {
    const { code, stderr } = await home.run(["init", "--org", "Acme"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--email is required")]);
  });
});

describe("on the embedded database of a data folder", () => {
  it("init makes the folder, and token create finds what it made", async () => {
    const folder = await mkdtemp(join(tmpdir(), "slipway-cli-data-"));
    // As root the database runs as another user, who must be able to pass through.
    await chmod(folder, 0o755);
    const embedded = await openHome({ SLIPWAY_DATA_DIR: join(folder, "data") });
    const first = await embedded.run(init, { stdin: "correct horse battery\n" });
    const second = await embedded.run(["token", "create", "--name", "ci", "--json"]);
    await embedded.close();
    await rm(folder, { recursive: true, force: true });
    expect([first.code, first.stderr, second.code, second.stderr]).toEqual([0, "", 0, ""]);
    expect(JSON.parse(second.stdout).token).toMatch(/^slp_/);
  }, 60_000);
});
