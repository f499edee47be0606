/** The platform in containers, from its own Dockerfile and compose.yaml, and what the image of the cloud lacks. */
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createClient } from "../../shared/contract/client.ts";
import * as organizations from "../../shared/contract/organizations.ts";
import { buildProductImage, type ComposedPlatform, composeUp } from "../lab/compose.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { docker } from "../lab/docker.ts";

describeWithLab("compose.yaml", () => {
  let platform: ComposedPlatform;
  let token: string;
  const answer = inject("lab");

  beforeAll(async () => {
    if (!answer.available) throw new Error("without a lab this is skipped");
    platform = await composeUp(answer.lab.images);
  }, 600_000);
  afterAll(() => platform?.close());

  const ready = async () => (await fetch(`${platform.url}/api/system/ready`).catch(() => null))?.status;

  it("starts edge, modules and Postgres, and an organization is made in it", async () => {
    await expect.poll(ready, { timeout: 60_000, interval: 500 }).toBe(200);
    const init =
      "echo 'correct horse battery staple' | node cli/slipway.ts init --org Acme --email a@example.com";
    const made = await platform.compose(
      ...["exec", "-T", "platform", "sh", "-c", `${init} --password-stdin --json`],
    );
    ({ token } = JSON.parse(made) as { token: string });
    const client = createClient({ baseUrl: platform.url, token });
    const another = await client.call(organizations.createToken, { json: { name: "second" } });
    expect(another.data.token).toMatch(/^slp_/);
    const answered = await fetch(`${platform.url}/api/deployments`, {
      headers: { authorization: `Bearer ${another.data.token}` },
    });
    expect(await answered.json()).toEqual({ data: [], nextCursor: null });
  });

  it("has the metrics of each part inside of its network, for those with a token", async () => {
    const parts = "['edge', 'platform', 'deploy', 'notify']";
    const asked = `Promise.all(${parts}.map((part) => fetch('http://' + part + ':9464/metrics')))`;
    const said = `${asked}.then((all) => console.log(all.map(({ status }) => status).join()))`;
    expect(await platform.compose("exec", "-T", "notify", "node", "-e", said)).toBe("401,401,401,401");
  });

  it("gives each part its own secrets alone, readable by nobody else, and runs none as root", async () => {
    const look = "id -un; ls /secrets; tr ',' '\\n' < /secrets/secrets.json | grep -o 'SLIPWAY_[A-Z_]*'";
    const seen = await platform.compose("exec", "-T", "deploy", "sh", "-c", look);
    expect(seen.split("\n").sort()).toEqual([
      "SLIPWAY_IDENTITY_PUBLIC_KEYS",
      "SLIPWAY_SEAL_CLOUD",
      "SLIPWAY_SEAL_ENV",
      "SLIPWAY_SEAL_GIT",
      "SLIPWAY_SEAL_REGISTRY",
      "SLIPWAY_SEAL_SERVER",
      "SLIPWAY_SEAL_WEBHOOK",
      "node",
      "secrets.json",
    ]);
  });

  it("lets the edge into the database under its own role alone, and does not give it the owner's address", async () => {
    const asEdge = (script: string) => platform.compose("exec", "-T", "edge", "sh", "-c", script);
    expect(await asEdge("env | grep '^DATABASE_URL' || echo none")).toBe("none");
    const inPostgres = ["exec", "-T", "postgres", "psql", "-U", "slipway", "-tAc"];
    const asked = "select count(*) > 0 from pg_stat_activity where usename = 'slipway_edge'";
    await fetch(`${platform.url}/api/system/ready`);
    expect(await platform.compose(...inPostgres, asked)).toBe("t");
    const own = "JSON.parse(require('fs').readFileSync('/secrets/secrets.json')).SLIPWAY_EDGE_DATABASE_URL";
    const ask = `new (require('pg').Client)(${own}); c.connect().then(() => c.query('select * from servers'))`;
    const told = await asEdge(
      `node -e "const c = ${ask}.catch((e) => console.log(e.message)).then(() => c.end())"`,
    );
    expect(told).toContain("permission denied");
  });

  it("is saved and restored by the commands of the manual, and starts again with what it had", async () => {
    const client = createClient({ baseUrl: platform.url, token });
    const names = async () =>
      (await client.call(organizations.listTokens, { query: {} })).data.map(({ name }) => name).sort();
    const before = await names();
    const inPostgres = (command: string) => platform.compose("exec", "-T", "postgres", "sh", "-c", command);
    await inPostgres("pg_dump -U slipway -Fc slipway > /tmp/slipway.dump");
    await client.call(organizations.createToken, { json: { name: "after the backup" } });
    await platform.compose("stop", "--timeout", "20", "edge", "platform", "deploy", "notify");
    await inPostgres(
      "pg_restore -U slipway -d slipway --clean --if-exists --no-privileges < /tmp/slipway.dump",
    );
    await platform.compose("up", "--detach", "--no-build");
    // The edge is ready before the modules behind it are.
    await expect.poll(ready, { timeout: 60_000, interval: 500 }).toBe(200);
    await expect.poll(() => names().catch(() => []), { timeout: 30_000 }).toEqual(before);
  });

  it("the image of the cloud has no mail and no migration in it, nor any secret or tool of tests", async () => {
    if (!answer.available) return;
    const image = await buildProductImage(answer.lab.images, "cloud");
    const listed = await docker([
      "run",
      "--rm",
      "--entrypoint",
      "sh",
      image,
      "-c",
      "ls functions; ls; ls node_modules",
    ]);
    const names = listed.split("\n");
    expect(names).toContain("container.ts");
    expect(names).toContain("pg");
    for (const absent of ["mail", "migration", "local.ts", "test", ".git", "wrangler", "vitest", "fauxqs"]) {
      expect(names).not.toContain(absent);
    }
  }, 300_000);
});
