/** Private repositories, with the server itself as the witness of where the token was seen. */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sendDueStatuses } from "../../../functions/deploy/statuses/send.ts";
import { wallClock } from "../../../shared/adapters/clocks.ts";
import { createGitHostApi } from "../../../shared/adapters/git-host-api-http.ts";
import { generateSshKey } from "../../../shared/adapters/ssh-key.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { gitSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { asGitHub, openGitHostApi } from "../../git-host-api-server.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { testOutgoing } from "../../outgoing.ts";
import { silentLog } from "../../silent-log.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { filesWith, watchFor } from "./secret-witness.ts";

describeWithLab("a project of a private repository", (lab) => {
  let world: LabWorld;
  let head: string;
  const repo = `shop-${randomBytes(4).toString("hex")}`;
  const baseUrl = new URL(lab.git.url("x", "y")).origin;
  beforeAll(async () => {
    world = await openLabWorld(lab);
    await lab.git.createRepository("private", repo);
    // Large enough for the fetch to be looked at while it runs.
    const files = { "index.html": "private page", "large.bin": randomBytes(30_000_000) };
    head = await lab.git.commit("private", repo, { files });
  });
  afterAll(() => world.close());

  async function connection(
    secret: string,
    change: Partial<typeof gitConnections.$inferInsert> = {},
  ): Promise<string> {
    const { organizationId } = world.organization;
    const id = newId("gitConnection");
    const sealedSecret = await world.platform.sealer.seal(
      "git",
      gitSecretPlace({ id, organizationId }),
      secret,
    );
    const row = { name: "git", provider: "git_host", baseUrl, kind: "token", last4: "" } as const;
    await world.platform.db
      .insert(gitConnections)
      .values({ id, organizationId, ...row, sealedSecret, ...change });
    return id;
  }

  async function deployShop(connectionId: string) {
    const made = await world.project({ "index.html": "other" });
    const source = {
      kind: "git",
      provider: "git_host",
      owner: "private",
      repo: "shop",
      connectionId,
    } as const;
    await world.platform.db.update(projects).set({ source }).where(eq(projects.id, made.id));
    return made.deploy();
  }

  async function project(connectionId?: string) {
    const source = { kind: "git", provider: "git_host", owner: "private", repo, connectionId } as const;
    const given = connectionId === undefined ? { cloneUrl: lab.git.url("private", repo) } : {};
    const made = await world.project(
      { "index.html": "other" },
      { slug: `p-${randomBytes(5).toString("hex")}` },
    );
    await world.platform.db
      .update(projects)
      .set({ source: { ...source, ...given } })
      .where(eq(projects.id, made.id));
    return made;
  }

  const watch = (token: string) => watchFor(lab.server, token, "git-remote-http");

  it("has witnesses that would see a token", async () => {
    const token = randomBytes(20).toString("hex");
    const witness = watch(token);
    const path = `/tmp/witness-${repo}`;
    await lab.server.exec(["sh", "-c", 'echo "$1" >"$2"; sleep 3', "control", token, path]);
    expect((await witness.end()).seen).toBeGreaterThan(0);
    expect(await filesWith(lab.server, token)).toBe(path);
    await lab.server.exec(["rm", path]);
  });

  it("is refused without a connection, and says so", async () => {
    const failed = await (await project()).deploy();
    expect(failed).toMatchObject({ status: "failed", error: { code: "git_not_allowed" } });
    expect(failed.error.hint).toContain("connectionId");
  });

  it("is refused with a token that does not hold", async () => {
    const failed = await (await project(await connection("not-the-token"))).deploy();
    expect(failed).toMatchObject({ status: "failed", error: { code: "git_not_allowed" } });
  });

  it("deploys with a connection; its token is in no process, no file and no log", async () => {
    const { token } = lab.git;
    const witness = watch(token);
    const made = await project(await connection(token));
    const done = await made.deploy();
    const { busy, seen } = await witness.end();
    expect(done).toMatchObject({ status: "ready", error: null });
    expect(busy).toBeGreaterThan(0);
    expect(seen).toBe(0);

    expect(await filesWith(lab.server, token)).toBe("");
    const logs = await world.organization.call("GET", `/api/deployments/${done.id}/logs?limit=200`);
    expect(JSON.stringify(logs.body)).toContain("Fetching");
    expect(JSON.stringify(logs.body)).not.toContain(token);
  });

  it("shows at its commit how the deployment goes", async () => {
    const host = await openGitHostApi();
    try {
      const made = await project(await connection(lab.git.token));
      const { db, sealer } = world.platform;
      const kept = host.repository(`private/${repo}`, [head]);
      // The lab's git server has no API; a host that has one stands in for it.
      const gitHostApi = createGitHostApi(asGitHub(testOutgoing(), host, `${baseUrl}/api/v3`));
      const parts = { db, sealer, gitHostApi, clock: wallClock, log: silentLog, baseUrl: "http://here.test" };
      host.grant(lab.git.token, "statuses");
      const { id } = await made.start();
      const targetUrl = `http://here.test/api/deployments/${id}`;
      // Deployments of the tests before are told of as well.
      const sent = async () => {
        await sendDueStatuses(parts);
        return kept.statuses.filter(({ target_url }) => target_url === targetUrl);
      };
      await expect.poll(async () => (await sent()).length, { timeout: 60_000 }).toBe(1);
      expect(await made.settled(id)).toMatchObject({ status: "ready" });
      const context = expect.stringMatching(/^slipway\/p-[0-9a-f]{10}$/);
      expect(await sent()).toMatchObject([
        { sha: head, state: "pending", context },
        { sha: head, state: "success", context },
      ]);
    } finally {
      await host.close();
    }
  });

  it("deploys with a deploy key from a host with the confirmed key, and from no other", async () => {
    const { server } = lab;
    const pair = generateSshKey("deploy");
    const home = `/home/admin/${repo}`;
    const prepare = `set -e
cat >>/home/admin/.ssh/authorized_keys
mkdir -p "$1/private" && git init -q --bare -b main "$1/private/shop.git"
cd "$(mktemp -d)" && git init -q -b main . && echo "by key" >index.html && git add .
git -c user.name=Lab -c user.email=lab@example.test commit -qm First
git push -q "$1/private/shop.git" main && chown -R admin: "$1"`;
    const ready = await server.exec(["sh", "-c", prepare, "prepare", home], { input: `${pair.publicKey}\n` });
    expect(ready.code, ready.stderr).toBe(0);
    const from = async (hostKey: string) => {
      const id = await connection(pair.privateKey, {
        kind: "deploy_key",
        baseUrl: `ssh://admin@127.0.0.1${home}`,
        hostKey,
      });
      return deployShop(id);
    };
    const accepted = () =>
      server.read(["sh", "-c", "journalctl -u ssh | grep -c 'Accepted.*127.0.0.1' || true"]);
    const before = await accepted();
    const [, other] = generateSshKey("other").publicKey.split(" ");
    expect(await from(`ssh-ed25519 ${other}`)).toMatchObject({
      status: "failed",
      error: { code: "git_host_key_changed" },
    });
    expect(await accepted()).toBe(before);

    expect(await from(server.hostKey)).toMatchObject({ status: "ready", error: null });
    expect(Number(await accepted())).toBeGreaterThan(Number(before));
    const line = pair.privateKey.split("\n")[2] ?? "";
    expect(line.length).toBeGreaterThan(40);
    expect(await filesWith(lab.server, line)).toBe("");
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
