/** The commands against a real edge and platform, as a script would run them. */
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openInstance } from "./instance.ts";
import type { Ended, Home, RunOptions } from "./run-cli.ts";
import { openHome } from "./run-cli.ts";
import { openSshPeer } from "./ssh-peer.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
let peer: Awaited<ReturnType<typeof openSshPeer>>;
let home: Home;
let token: string;

const run = (argv: string, options?: RunOptions): Promise<Ended> => home.run(argv.split(" "), options);

beforeAll(async () => {
  instance = await openInstance();
  peer = await openSshPeer();
  home = instance.home;
  const made = await run("init --org Acme --email ada@example.com --password-stdin --json", {
    stdin: "correct horse battery\n",
  });
  token = JSON.parse(made.stdout).token;
});
afterAll(async () => {
  await peer.close();
  await instance.close();
});

describe("login", () => {
  it("is needed for everything else: exit code 3", async () => {
    const { code, stdout, stderr } = await run("status --json");
    expect([code, stdout, JSON.parse(stderr).code]).toEqual([3, "", "not_logged_in"]);
  });

  it("refuses a token that does not hold with 3, and stores nothing", async () => {
    const { code } = await home.run(["login", instance.url, "--token-stdin"], {
      stdin: `slp_${"a".repeat(40)}\n`,
    });
    expect(code).toBe(3);
    await expect(stat(join(home.path, "slipway/credentials.json"))).rejects.toThrow("ENOENT");
  });

  it("says with 4 that nothing answers there", async () => {
    const { code, stderr } = await run("login http://127.0.0.1:1 --token-stdin --json", { stdin: token });
    expect([code, JSON.parse(stderr).code]).toEqual([4, "unreachable"]);
  });

  it("keeps address and token in a file that only its owner can read", async () => {
    const { code, stdout } = await home.run(["login", instance.url, "--token-stdin", "--json"], {
      stdin: `${token}\n`,
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { url: instance.url, organization: { name: "Acme" } },
    ]);
    expect((await stat(join(home.path, "slipway/credentials.json"))).mode & 0o777).toBe(0o600);
  });

  it("never sends the stored token to another address", async () => {
    const { code } = await run("status", { environment: { SLIPWAY_URL: "http://127.0.0.1:1" } });
    expect(code).toBe(3);
  });

  it("is not needed where SLIPWAY_URL and SLIPWAY_TOKEN are set", async () => {
    const other = await openHome();
    const environment = { SLIPWAY_URL: instance.url, SLIPWAY_TOKEN: token };
    const { code, stdout } = await other.run(["status", "--json"], { environment });
    await other.close();
    expect([code, JSON.parse(stdout).organization.name]).toEqual([0, "Acme"]);
  });
});

describe("server add", () => {
  const add = () => `server add web-1 --host 127.0.0.1 --port ${peer.port} --generate-key --json`;

  it("trusts nothing by itself where nobody can be asked", async () => {
    const { code, stderr } = await run(add());
    expect([code, JSON.parse(stderr).error]).toEqual([2, expect.stringContaining("--host-key or --trust")]);
  });

  it("adds nothing when the presented key has another fingerprint", async () => {
    const { code, stderr } = await run(`${add()} --trust SHA256:${"A".repeat(43)}`);
    expect([code, JSON.parse(stderr).code]).toEqual([1, "host_key_mismatch"]);
    expect(JSON.parse((await run("server list --json")).stdout)).toEqual([]);
  });

  it("stores the key whose fingerprint was named", async () => {
    const probed = JSON.parse((await run(`server probe 127.0.0.1 --port ${peer.port} --json`)).stdout);
    expect(probed.hostKey).toBe(peer.hostKey);
    const { code, stdout } = await run(`${add()} --trust ${probed.fingerprint}`);
    expect([code, JSON.parse(stdout).hostKey.key]).toEqual([0, peer.hostKey]);
  });

  it("says with 1 that a machine cannot be probed: the instance itself was reached", async () => {
    const { code, stderr } = await run("server probe 127.0.0.1 --port 1 --json");
    expect([code, JSON.parse(stderr).error]).toEqual([1, expect.any(String)]);
  });
});

describe("project", () => {
  it("is created on the only server, and found by slug, name and id", async () => {
    const made = await home.run([
      "project",
      "create",
      "The Shop",
      "--slug",
      "shop",
      "--repo",
      "acme/shop",
      "--json",
    ]);
    expect(made.code).toBe(0);
    const { id } = JSON.parse(made.stdout);
    for (const named of ["shop", "the shop", id]) {
      expect(JSON.parse((await home.run(["project", "show", named, "--json"])).stdout).id).toBe(id);
    }
  });

  it("that two things are called is not guessed: both are listed", async () => {
    await home.run(["project", "create", "shop", "--slug", "shop-2", "--repo", "acme/shop", "--json"]);
    const { code, stderr } = await run("project show shop --json");
    expect([code, JSON.parse(stderr).code]).toEqual([1, "ambiguous"]);
    expect(JSON.parse(stderr).hint).toMatch(/prj_\w+.*prj_\w+/);
    await run("project delete shop-2 --release --yes");
  });

  it("update changes the one thing that was named", async () => {
    await run("project update shop --port 8080 --start-command serve --json");
    const { stdout } = await run("project update shop --port 9090 --json");
    expect(JSON.parse(stdout).build).toEqual({ port: 9090, startCommand: "serve" });
  });

  it("env takes a value from stdin and shows only its fingerprint", async () => {
    expect((await run("project env set shop API_KEY", { stdin: "s3cret-value\n" })).code).toBe(0);
    const { stdout } = await run("project env get shop --json");
    expect(JSON.parse(stdout)).toMatchObject([{ key: "API_KEY" }]);
    expect(stdout).not.toContain("s3cret-value");
  });

  it("env refuses a value in the command line", async () => {
    const { code, stderr } = await run("project env set shop API_KEY=s3cret-value");
    expect([code, stderr]).toEqual([2, expect.not.stringContaining("s3cret-value")]);
  });

  it("env imports a .env file and leaves other keys alone", async () => {
    const file = join(home.path, "app.env");
    await writeFile(file, "# comment\nA=1\nB='two words'\n");
    expect((await home.run(["project", "env", "import", "shop", file])).code).toBe(0);
    const entries = JSON.parse((await run("project env get shop --json")).stdout) as { key: string }[];
    expect(entries.map(({ key }) => key)).toEqual(["A", "API_KEY", "B"]);
  });

  it("env names the key that the API refuses", async () => {
    const { code, stderr } = await run("project env set shop 1KEY --json", { stdin: "x" });
    expect([code, JSON.parse(stderr).details[0].path]).toEqual([1, expect.stringContaining("1KEY")]);
  });

  it("delete --release answers that it was released; --volumes does not go with it", async () => {
    const both = await run("project delete shop --release --volumes --yes");
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("takes no --volumes")]);
    const made = await run(
      "project create data --repo acme/data --volume data:/data --volume cache:/cache:ro --json",
    );
    expect(JSON.parse(made.stdout).volumes).toEqual(["data:/data", "cache:/cache:ro"]);
    const gone = await run("project delete data --volumes --yes");
    expect([gone.code, gone.stdout]).toEqual([0, "Deleted data.\n"]);
  });

  it("of services can be created", async () => {
    const made = await run("project create parts --kind monorepo --repo acme/parts --json");
    expect([made.code, JSON.parse(made.stdout).kind]).toEqual([0, "monorepo"]);
    await run("project delete parts --yes");
  });

  it("on a pool is for a cloud that has one, and names no server", async () => {
    const both = await run("project create pooled --upload --server web-1 --pool");
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--server or --pool")]);
    const refused = await run("project create pooled --upload --pool --json");
    expect([refused.code, JSON.parse(refused.stderr).details[0].path]).toEqual([1, "body.serverId"]);
  });

  it("delete asks first, and without a terminal wants --yes", async () => {
    const { code, stderr } = await run("project delete shop");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--yes")]);
  });
});

describe("registry", () => {
  it("is added with a secret from stdin, listed without it, checked and removed", async () => {
    const added = await run("registry add Images.Example.org --username ci --password-stdin --json", {
      stdin: "pull-0123456789WXYZ\n",
    });
    expect([added.code, JSON.parse(added.stdout)]).toMatchObject([
      0,
      { host: "images.example.org", secret: { last4: "WXYZ" } },
    ]);
    const list = await run("registry list");
    expect(list.stdout).toMatch(/images\.example\.org.*…WXYZ/);
    expect(`${added.stdout}${list.stdout}`).not.toContain("pull-");
    const checked = await run("registry check images.example.org --json");
    expect([checked.code, JSON.parse(checked.stderr).code]).toEqual([1, "no_server"]);
    expect((await run("registry remove images.example.org --yes")).code).toBe(0);
    expect(JSON.parse((await run("registry list --json")).stdout)).toEqual([]);
  });
});

describe("cloud", () => {
  it("is linked with a token from stdin, once the cloud has taken it, and shown without it", async () => {
    const none = await run("cloud status");
    expect([none.code, none.stdout]).toEqual([0, expect.stringContaining("slipway cloud link")]);
    const token = `slp_${"a".repeat(40)}`;
    const refused = await run(`cloud link ${instance.url} --token-stdin --json`, { stdin: `${token}\n` });
    expect([refused.code, JSON.parse(refused.stderr).code]).toEqual([1, "cloud_token_refused"]);
    expect(refused.stdout + refused.stderr).not.toContain(token);
    expect((await run("cloud unlink")).code).toBe(2);
    expect((await run("cloud unlink --yes")).code).toBe(0);
    expect(JSON.parse((await run("cloud status --json")).stdout)).toBeNull();
  });
});

describe("token", () => {
  it("create goes through the API when logged in, and finds projects by name", async () => {
    const { code, stdout } = await run(
      "token create --name ci --permission deployment:write --project shop --json",
    );
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { name: "ci", token: expect.stringMatching(/^slp_/) },
    ]);
  });

  it("revoke ends it at once", async () => {
    const made = JSON.parse((await run("token create --name brief --json")).stdout);
    const environment = { SLIPWAY_URL: instance.url, SLIPWAY_TOKEN: made.token };
    expect((await run("status", { environment })).code).toBe(0);
    expect((await run("token revoke brief --yes")).code).toBe(0);
    expect((await run("status", { environment })).code).toBe(3);
  });

  it("that may not do something is refused with 1 and the API's code", async () => {
    const made = JSON.parse(
      (await run("token create --name reader --permission project:read --json")).stdout,
    );
    const environment = { SLIPWAY_TOKEN: made.token };
    const { code, stderr } = await run("server list --json", { environment });
    expect([code, JSON.parse(stderr).code]).toEqual([1, "forbidden"]);
  });
});
