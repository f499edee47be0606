/** `slipway doctor`: what it finds, with and without a running platform, and that it changes nothing. */
import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { webhookDeliveries } from "../../shared/db/delivery-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { seedOrganization } from "../database.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { openInstance } from "./instance.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
let folder: string;
let owner: { organizationId: string; userId: string };

beforeAll(async () => {
  instance = await openInstance();
  owner = await seedOrganization(instance.db);
  folder = await mkdtemp(join(tmpdir(), "slipway-doctor-"));
});
afterAll(async () => {
  await instance.close();
  await rm(folder, { recursive: true, force: true });
});

interface Finding {
  check: string;
  status: string;
  message: string;
  hint: string | null;
}

async function doctor(argv: string[], environment: Record<string, string> = {}) {
  const { port } = new URL(instance.url);
  const all = { PORT: port, SLIPWAY_DATA_DIR: folder, ...environment };
  const { code, stdout, stderr } = await instance.home.run(["doctor", "--json", ...argv], {
    environment: all,
  });
  const findings = JSON.parse(stdout) as Finding[];
  return { code, stderr, of: (check: string) => findings.find((each) => each.check === check), findings };
}

test("on a healthy instance every check holds, and it exits 0", async () => {
  await writeFile(join(folder, "secrets.json"), "{}", { mode: 0o600 });
  const { code, findings } = await doctor(["--offline"]);
  const bad = findings.filter(({ check, status }) => status !== "ok" && check !== "disk");
  expect(findings.map(({ check }) => check)).toEqual([
    ...["node", "data_folder", "disk", "secrets", "process", "port"],
    ...["database", "clock", "deliveries", "operations", "servers"],
  ]);
  // The platform of this test holds no data folder.
  expect([code, bad.map(({ check, status }) => `${check} ${status}`)]).toEqual([0, ["process warn"]]);
});

test("servers of the pool that take no projects are named with the reason", async () => {
  const pooled = newId("server");
  const { of } = await doctor(["--offline"], { SLIPWAY_MODE: "cloud", SLIPWAY_POOL_SERVERS: pooled });
  expect(of("pool")).toMatchObject({ status: "fail", hint: expect.stringContaining("SLIPWAY_POOL_SERVERS") });
  expect(of("pool")?.message).toContain(`${pooled}: there is no such server`);
});

test("secrets that others may read fail, with the command that helps, and exit 1", async () => {
  const file = join(folder, "secrets.json");
  await chmod(file, 0o644);
  const { code, stderr, of } = await doctor(["--offline"]);
  await chmod(file, 0o600);
  expect(of("secrets")).toMatchObject({ status: "fail", hint: `Run "chmod 600 ${file}".` });
  expect([code, JSON.parse(stderr).error]).toEqual([1, "Failed: secrets."]);
});

test("a data folder that others may look into is a warning", async () => {
  await chmod(folder, 0o755);
  const { of } = await doctor(["--offline"]);
  await chmod(folder, 0o700);
  expect(of("data_folder")).toMatchObject({ status: "warn", hint: `Run "chmod go-rw ${folder}".` });
});

test("a folder that is not there is said, and not made", async () => {
  const absent = join(folder, "absent");
  const { of } = await doctor(["--offline"], { SLIPWAY_DATA_DIR: absent });
  expect(of("data_folder")).toMatchObject({
    status: "warn",
    message: `There is no data folder at ${absent}.`,
  });
  expect(await readdir(folder)).not.toContain("absent");
});

test("the pid of a live platform is named; where its port is silent, that fails", async () => {
  const holder = { pid: process.pid, purpose: "platform", startedAt: new Date().toISOString() };
  await writeFile(join(folder, "platform.json"), JSON.stringify(holder));
  const [alive, silent] = await Promise.all([doctor(["--offline"]), doctor(["--offline"], { PORT: "9" })]);
  await rm(join(folder, "platform.json"));
  expect(alive.of("process")).toMatchObject({
    status: "ok",
    message: expect.stringContaining(`${process.pid}`),
  });
  expect([silent.code, silent.of("port")?.status]).toEqual([1, "fail"]);
});

test("another program on the port fails", async () => {
  const other = createServer((_request, response) => response.end("hello"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { of } = await doctor(["--offline"], { PORT: String((other.address() as AddressInfo).port) });
  other.close();
  expect(of("port")).toMatchObject({ status: "fail", hint: expect.stringContaining("PORT") });
});

test("a database that does not answer fails, and its password is not shown", async () => {
  const { code, of, findings } = await doctor(["--offline"], {
    DATABASE_URL: "postgres://slipway:hunter22@127.0.0.1:9/slipway",
  });
  expect([code, of("database")?.status]).toEqual([1, "fail"]);
  expect(JSON.stringify(findings)).not.toContain("hunter22");
});

test("missing migrations fail, and are not run", async () => {
  const last = sql`delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations) returning *`;
  const { rows } = (await instance.db.execute(last)) as unknown as { rows: Record<string, unknown>[] };
  const { code, of } = await doctor(["--offline"]);
  const [row] = rows;
  await instance.db.execute(
    sql`insert into drizzle.__drizzle_migrations (id, hash, created_at) values (${row?.["id"]}, ${row?.["hash"]}, ${row?.["created_at"]})`,
  );
  expect([code, of("database")?.message]).toEqual([1, "1 migrations are missing."]);
});

test("a wrong setting is one failed check and no crash", async () => {
  const { code, of } = await doctor(["--offline"], { PORT: "many" });
  expect([code, of("settings")?.message]).toEqual([1, expect.stringContaining("PORT")]);
});

test("lost deliveries, stuck and abandoned operations and servers out of reach are found", async () => {
  const before = await doctor(["--offline"]);
  expect(before.of("operations")?.status).toBe("ok");
  const { organizationId } = owner;
  const id = newId("delivery");
  const delivery = { id, provider: "git_host", deliveryId: id, headers: {}, body: new Uint8Array() };
  await instance.db.insert(webhookDeliveries).values({ ...delivery, status: "failed" });
  const common = { organizationId, kind: "deployment", subjectId: "a" };
  const abandoned = { code: "abandoned", message: "Given up.", hint: null, logTail: [] };
  const [lost, stuck] = [newId("deployment"), newId("deployment")];
  await instance.db
    .insert(operations)
    .values({ ...common, id: lost, state: "failed", final: true, error: abandoned, finishedAt: new Date() });
  await instance.db.insert(servers).values({
    ...{ id: newId("server"), organizationId, name: "web-1", host: "192.0.2.1", port: 22, user: "root" },
    ...{ authKind: "password", sealedCredential: "x", hostKey: "x", lastCheck: { ok: false } },
  });
  const { of } = await doctor(["--offline"]);
  expect(of("deliveries")).toMatchObject({
    status: "warn",
    message: expect.stringMatching(/1 failed and 1 matched/),
  });
  expect(of("operations")).toMatchObject({ status: "warn", message: expect.stringContaining(lost) });
  expect(of("servers")).toMatchObject({ status: "warn", message: expect.stringContaining("web-1") });

  const leaseUntil = new Date(Date.now() - 300_000);
  await instance.db
    .insert(operations)
    .values({ ...common, id: stuck, state: "building", inFlight: true, leaseUntil });
  expect((await doctor(["--offline"])).of("operations")).toMatchObject({
    status: "warn",
    message: `In flight without anyone at work on them: ${stuck}.`,
    hint: "The next start of the platform takes them up.",
  });
});

test("through the API it says whether it is ready, and what its metrics show", async () => {
  const { token } = await seedToken(instance.db, owner);
  const id = newId("delivery");
  const delivery = { id, provider: "git_host", deliveryId: id, headers: {}, body: new Uint8Array() };
  await instance.db.insert(webhookDeliveries).values({ ...delivery, status: "failed" });
  const stuck = { id: newId("deployment"), organizationId: owner.organizationId, kind: "deployment" };
  const leaseUntil = new Date(Date.now() - 300_000);
  await instance.db
    .insert(operations)
    .values({ ...stuck, subjectId: "online", state: "building", inFlight: true, leaseUntil });
  const online = { SLIPWAY_URL: instance.url, SLIPWAY_TOKEN: token };
  const { code, findings } = await doctor(["--online"], online);
  expect([code, findings.map(({ check, status }) => `${check} ${status}`)]).toEqual([
    1,
    ["api ok", "api_deliveries warn", "api_queue ok", "api_operations fail"],
  ]);
  const away = await doctor(["--online"], { ...online, SLIPWAY_URL: "http://127.0.0.1:9" });
  expect([away.code, away.of("api")?.status]).toEqual([1, "fail"]);
});

test("a token without organization:read is told which permission is missing", async () => {
  const { token } = await seedToken(instance.db, owner, { permissions: ["project:read"] });
  const { code, of } = await doctor(["--online"], { SLIPWAY_URL: instance.url, SLIPWAY_TOKEN: token });
  expect([code, of("api_metrics")]).toMatchObject([
    0,
    { status: "warn", hint: expect.stringContaining("organization:read") },
  ]);
});
