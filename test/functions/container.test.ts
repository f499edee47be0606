/** Parts in processes of their own: what each needs to start, whom it believes, and that replicas share the work. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../shared/contract/client.ts";
import * as organizations from "../../shared/contract/organizations.ts";
import * as projects from "../../shared/contract/projects.ts";
import { edgeRole } from "../../shared/db/edge-role.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { makeSealKey } from "../keys.ts";
import { findFreePort } from "../lab/free-port.ts";
import { type Environment, type PartProcess, runPart, startPart } from "../part-process.ts";

let database: TestDatabase;
let folder: string;
let common: Environment;
let running: PartProcess[] = [];
type Owner = Awaited<ReturnType<typeof seedOrganization>>;
const secretsOf = (part: string) => join(folder, part, "secrets.json");

beforeAll(async () => {
  database = await openTestDatabase();
  // As if the set-up step had made it here: the edge of these tests signs in under it.
  const mark = `Made by Slipway's set-up for the database ${new URL(database.url).pathname.slice(1)}`;
  await database.db.execute(sql.raw(`comment on role ${edgeRole} is '${mark.replace("'", "''")}'`));
  folder = await mkdtemp(join(tmpdir(), "slipway-parts-"));
  common = { DATABASE_URL: database.url, SLIPWAY_DATA_DIR: join(folder, "data") };
});
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()));
  await rm(folder, { recursive: true, force: true });
  await database.close();
});

describe("the set-up step", () => {
  test("gives each part the secrets that it needs, and no other", async () => {
    expect(await runPart(["set-up", folder], common)).toEqual({ code: 0, output: "" });
    const names = async (part: string) =>
      Object.keys(JSON.parse(await readFile(secretsOf(part), "utf8"))).sort();
    expect(await names("edge")).toEqual([
      "SLIPWAY_EDGE_DATABASE_URL",
      "SLIPWAY_IDENTITY_KEY",
      "SLIPWAY_SEAL_IDEMPOTENCY",
      "SLIPWAY_SEAL_WEBHOOK",
    ]);
    expect(await names("deploy")).toEqual([
      "SLIPWAY_IDENTITY_PUBLIC_KEYS",
      "SLIPWAY_SEAL_CLOUD",
      "SLIPWAY_SEAL_ENV",
      "SLIPWAY_SEAL_GIT",
      "SLIPWAY_SEAL_REGISTRY",
      "SLIPWAY_SEAL_SERVER",
      "SLIPWAY_SEAL_WEBHOOK",
    ]);
    const [publicKey] = JSON.parse(
      await readFile(secretsOf("platform"), "utf8"),
    ).SLIPWAY_IDENTITY_PUBLIC_KEYS;
    expect(publicKey).toHaveProperty("x");
    expect(publicKey).not.toHaveProperty("d");
  });

  test("changes nothing the second time", async () => {
    const before = await readFile(secretsOf("edge"), "utf8");
    expect((await runPart(["set-up", folder], common)).code).toBe(0);
    expect(await readFile(secretsOf("edge"), "utf8")).toBe(before);
  });

  test("hands out what a person changes in its folder: a key in front of a ring, an identity that was taken out", async () => {
    const own = join(folder, "instance", "secrets.json");
    const { classes, identity } = JSON.parse(await readFile(own, "utf8"));
    const added = { kid: "2026-11", key: makeSealKey() };
    const changed = { classes: { ...classes, webhook: [added, ...classes.webhook] } };
    await writeFile(own, JSON.stringify(changed), { mode: 0o600 });
    expect(await runPart(["set-up", folder], common)).toEqual({ code: 0, output: "" });
    const edge = JSON.parse(await readFile(secretsOf("edge"), "utf8"));
    const platform = JSON.parse(await readFile(secretsOf("platform"), "utf8"));
    expect(edge.SLIPWAY_SEAL_WEBHOOK).toEqual([added, ...classes.webhook]);
    expect(platform.SLIPWAY_SEAL_WEBHOOK).toEqual(edge.SLIPWAY_SEAL_WEBHOOK);
    expect(edge.SLIPWAY_IDENTITY_KEY.kid).not.toBe(identity.kid);
    expect(platform.SLIPWAY_IDENTITY_PUBLIC_KEYS).toMatchObject([{ kid: edge.SLIPWAY_IDENTITY_KEY.kid }]);
  });
});

describe("a part does not start", () => {
  const origins = {
    SLIPWAY_PLATFORM_URL: "http://x:1",
    SLIPWAY_DEPLOY_URL: "http://x:2",
    SLIPWAY_NOTIFY_URL: "http://x:3",
  };
  test.each([
    ["of a name that there is not", ["mail"], {}, 'There is no part "mail"'],
    ["without a database", ["deploy"], { DATABASE_URL: "" }, "DATABASE_URL"],
    [
      "without a database of its own or the owner's",
      ["edge"],
      { ...origins, DATABASE_URL: "" },
      "DATABASE_URL",
    ],
    [
      "with an address of its own that is none",
      ["edge"],
      { ...origins, SLIPWAY_EDGE_DATABASE_URL: "hunter22" },
      "SLIPWAY_EDGE_DATABASE_URL is not a Postgres address",
    ],
    ["without its secrets", ["deploy"], {}, "SLIPWAY_SEAL_SERVER"],
    ["without the modules behind it", ["edge"], { SLIPWAY_PLATFORM_URL: "http://x:1" }, "SLIPWAY_DEPLOY_URL"],
    ["with half of a queue", ["deploy"], { SLIPWAY_QUEUE_DEPLOY: "https://sqs.test/1/d.fifo" }, "AWS_REGION"],
    [
      "with metrics on a port that is none",
      ["notify"],
      { SLIPWAY_METRICS_PORT: "x" },
      'SLIPWAY_METRICS_PORT is "x"',
    ],
    ["with a file of secrets that is none", ["platform"], { SLIPWAY_SECRETS_FILE: "/dev/null" }, "/dev/null"],
  ] as const)("%s", async (_when, argv, environment, says) => {
    const { code, output } = await runPart(argv, { ...common, ...environment });
    expect([code, output]).toEqual([1, expect.stringContaining(says)]);
  });

  test("in cloud mode with a secret missing or metrics for everybody, which is named", async () => {
    const secrets = JSON.parse(await readFile(secretsOf("platform"), "utf8"));
    const given = Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => [name, JSON.stringify(value)]),
    );
    for (const [name, value] of [
      ["SLIPWAY_SEAL_GIT", ""],
      ["SLIPWAY_IDENTITY_PUBLIC_KEYS", ""],
      // Its tokens belong to customers, and the instance does not.
      ["SLIPWAY_METRICS_PORT", "9464"],
    ] as const) {
      const environment = { ...common, ...given, SLIPWAY_MODE: "cloud", [name]: value };
      const { code, output } = await runPart(["platform"], environment);
      expect([code, output]).toEqual([1, expect.stringContaining(name)]);
    }
  });
});

describe("parts in processes of their own", () => {
  let edge: PartProcess;
  let platform: PartProcess;
  let token: string;
  let owner: Owner;
  const metricsUrls = new Map<string, string>();
  const metricsPortOf = async (part: string) => {
    const port = String(await findFreePort());
    metricsUrls.set(part, `http://127.0.0.1:${port}/metrics`);
    return port;
  };
  const ask = (part: string, given?: string) => {
    const headers: Record<string, string> = given === undefined ? {} : { authorization: `Bearer ${given}` };
    return fetch(metricsUrls.get(part) ?? "", { headers });
  };

  beforeAll(async () => {
    const start = async (part: "platform" | "deploy" | "notify") =>
      startPart(part, {
        ...common,
        SLIPWAY_SECRETS_FILE: secretsOf(part),
        SLIPWAY_METRICS_PORT: await metricsPortOf(part),
      });
    const [first, second, deploy, notify] = await Promise.all([
      start("platform"),
      start("platform"),
      start("deploy"),
      start("notify"),
    ]);
    platform = first;
    edge = await startPart("edge", {
      ...common,
      DATABASE_URL: undefined,
      SLIPWAY_SECRETS_FILE: secretsOf("edge"),
      SLIPWAY_METRICS_PORT: await metricsPortOf("edge"),
      SLIPWAY_PLATFORM_URL: first.url,
      SLIPWAY_DEPLOY_URL: deploy.url,
      SLIPWAY_NOTIFY_URL: notify.url,
    });
    running = [first, second, deploy, notify, edge];
    owner = await seedOrganization(database.db);
    ({ token } = await seedToken(database.db, owner));
  }, 60_000);

  test("answer through the edge as one", async () => {
    const client = createClient({ baseUrl: edge.url, token });
    expect((await client.call(projects.listProjects, { query: {} })).data).toEqual([]);
    const made = await client.call(organizations.createToken, {
      json: { name: "made through two processes" },
    });
    expect(made.data.token).toMatch(/^slp_/);
  });

  test("believe nobody but the edge", async () => {
    const headers = { authorization: `Bearer ${token}`, "x-slipway-identity": "forged" };
    for (const path of ["/api/projects", "/api/tokens", "/"]) {
      expect((await fetch(platform.url + path, { headers })).status).toBe(401);
    }
  });

  test("say on the console how a new instance is set up, and nothing of it in the cloud", async () => {
    expect(platform.output()).toMatch(/set-up code of this instance is \w{4}-\w{4}-\w{4}/);
    expect(edge.output()).not.toContain("set-up code");
  });

  test("tell their own metrics, each on a port of its own, and the work in the database once", async () => {
    await fetch(`${edge.url}/api/projects`, { headers: { authorization: `Bearer ${token}` } });
    const told = new Map<string, string>();
    for (const part of metricsUrls.keys()) {
      const answer = await ask(part, token);
      expect([part, answer.status]).toEqual([part, 200]);
      expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      told.set(part, await answer.text());
    }
    for (const text of told.values()) expect(text).toMatch(/^slipway_process_resident_memory_bytes [1-9]/m);
    const having = (name: string) =>
      [...told].filter(([, text]) => new RegExp(`^${name}[ {]`, "m").test(text)).map(([part]) => part);
    expect(having("slipway_http_requests_total")).toEqual(["edge"]);
    expect(having("slipway_operations_ownerless")).toEqual(["platform"]);
    expect(having("slipway_ssh_connections").sort()).toEqual(["deploy", "notify", "platform"]);
  });

  test("tell their metrics to nobody without organization:read, and nothing else on that port", async () => {
    const weak = await seedToken(database.db, owner, { permissions: ["project:read"] });
    for (const [part, url] of metricsUrls) {
      const statuses = [(await ask(part)).status, (await ask(part, "slp_nonsense")).status];
      expect([part, ...statuses, (await ask(part, weak.token)).status]).toEqual([part, 401, 401, 403]);
      const headers = { authorization: `Bearer ${token}` };
      const elsewhere = await fetch(url.replace("/metrics", "/api/projects"), { headers });
      expect([elsewhere.status, (await fetch(url, { method: "POST", headers })).status]).toEqual([404, 404]);
    }
    for (const { url } of running) {
      expect((await fetch(`${url}/metrics`)).status).toBeGreaterThanOrEqual(400);
    }
  });

  test("of which one is away are 502, and the rest goes on", async () => {
    await running[2]?.kill();
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${edge.url}/api/deployments`, { headers })).status).toBe(502);
    expect((await fetch(`${edge.url}/api/projects`, { headers })).status).toBe(200);
  });
});
