import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { projectServices } from "../../../shared/db/project-tables.ts";
import { addProject, addServer, type Organization, openTestPlatform, type TestPlatform } from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let serverId: string;
let projectId: string;
let path: string;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  serverId = await addServer(acme.call);
  projectId = await addProject(acme.call, serverId, { kind: "compose" });
  path = `/api/projects/${projectId}/services`;
});

const add = (body: Record<string, unknown>) => acme.call("POST", path, { image: "postgres:16", ...body });
const change = (id: string, body: Record<string, unknown>) => acme.call("PATCH", `${path}/${id}`, body);
const added = async (name: string, more: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await add({ name, ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data.id;
};
const problem = ({ status, body }: Awaited<ReturnType<typeof add>>) => [status, body.details?.[0]?.path];

describe("a service", () => {
  it("keeps every field; of its environment it shows keys and fingerprints only", async () => {
    await added("db");
    const wanted = {
      build: { context: "packages/web", dockerfile: "docker/web.Dockerfile" },
      ports: ["3000", "8080:80", "127.0.0.1:5000-5010:6000-6010/udp"],
      dependsOn: ["db"],
      volumes: ["data:/var/lib/data", "./conf:/etc/conf:ro"],
      command: "npm start",
      healthCheck: { path: "/up", port: 3000, timeoutSeconds: 20 },
      watchPaths: ["packages/{web,shared}/**", "*.json", "src/[ab]?.ts"],
      updateStrategy: "recreate",
      resources: { cpus: 0.5, memoryMB: 128 },
    };
    const made = await acme.call("POST", path, {
      name: "Web.1",
      ...wanted,
      environment: { B: "second-secret", A: "first-secret" },
    });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { environment, ...shown } = made.body.data;
    expect(shown).toMatchObject({ name: "Web.1", projectId, image: null, ...wanted });
    expect(environment).toEqual([
      { key: "A", fingerprint: expect.any(String) },
      { key: "B", fingerprint: expect.any(String) },
    ]);
    const list = await acme.call("GET", path);
    expect(list.body.data.map(({ name }: { name: string }) => name)).toEqual(["Web.1", "db"]);
    expect(list.body.data[0]).toEqual(made.body.data);
    expect(JSON.stringify([made.body, list.body])).not.toMatch(/-secret|sealed/);
    const [row] = await platform.db.select().from(projectServices).where(eq(projectServices.id, shown.id));
    expect(row?.sealedEnvironment).toMatch(/^sealed:v1:env:/);
  });

  it("is changed field by field: image and build take each other's place, null removes a variable", async () => {
    const id = await added("web", { environment: { A: "1", B: "2" }, ports: ["80"] });
    const before = (await acme.call("GET", path)).body.data[0].environment;
    const built = await change(id, { build: {}, environment: { A: null, C: "3" } });
    expect(built.body.data).toMatchObject({ image: null, build: { context: "." }, ports: ["80"] });
    expect(built.body.data.environment.map(({ key }: { key: string }) => key)).toEqual(["B", "C"]);
    expect(built.body.data.environment[0]).toEqual(before[1]);
    const back = await change(id, { image: "redis:7", command: null });
    expect(back.body.data).toMatchObject({ image: "redis:7", build: null });
    const audit = await platform.db.select().from(auditEntries).where(eq(auditEntries.resourceId, projectId));
    expect(audit.filter(({ action }) => action === "service.updated")).toMatchObject([
      { fields: ["build", "environment"] },
      { fields: ["image", "command"] },
    ]);
    expect(JSON.stringify(audit)).not.toContain('"3"');
  });

  it("takes those that depend on it along to another name, and is not removed under them", async () => {
    const db = await added("db");
    const web = await added("web", { dependsOn: ["db"] });
    expect((await change(db, { name: "database" })).status).toBe(200);
    expect((await acme.call("GET", path)).body.data[0]).toMatchObject({ id: web, dependsOn: ["database"] });
    const refused = await acme.call("DELETE", `${path}/${db}`);
    expect([refused.status, refused.body.code]).toEqual([409, "service_needed"]);
    expect(refused.body.error).toContain("web");
    expect((await acme.call("DELETE", `${path}/${web}`)).body).toEqual({ success: true });
    expect((await acme.call("DELETE", `${path}/${db}`)).status).toBe(200);
    expect((await acme.call("DELETE", `${path}/${db}`)).status).toBe(404);
  });
});

describe("what a service is refused for", () => {
  it("names that are taken, in any case of letters", async () => {
    const id = await added("db");
    await added("web");
    for (const refused of [await add({ name: "DB" }), await change(id, { name: "Web" })]) {
      expect([refused.status, refused.body.code]).toEqual([409, "service_name_taken"]);
    }
    expect((await change(id, { name: "Db" })).status).toBe(200);
  });

  it("dependencies that are not there, are itself, or come back to it", async () => {
    const a = await added("a");
    await added("b", { dependsOn: ["a"] });
    await added("c", { dependsOn: ["b"] });
    const unknown = await add({ name: "d", dependsOn: ["a", "nobody"] });
    expect([unknown.status, unknown.body.code]).toEqual([400, "unknown_service"]);
    expect(unknown.body.error).toContain("c");
    expect(problem(unknown)).toEqual([400, "body.dependsOn.1"]);
    expect((await add({ name: "d", dependsOn: ["d"] })).body.code).toBe("dependency_cycle");
    const cycle = await change(a, { dependsOn: ["c"] });
    expect([cycle.status, cycle.body.code]).toEqual([400, "dependency_cycle"]);
    expect(cycle.body.error).toContain("a → c → b → a");
    expect((await change(a, { name: "x", dependsOn: ["x"] })).body.code).toBe("dependency_cycle");
    expect((await add({ name: "d", dependsOn: ["a", "A"] })).status).toBe(400);
  });

  it.each([
    ["name", ["", "-rf", "a b", "a/b", "$(id)", "a\nb", ".a", "a.", "x".repeat(64)]],
    ["image", ["", "-v", "a b", "a:b:c", "a\n", "postgres:16 --privileged", "a@sha256:1"]],
    [
      "ports.0",
      ["", "0", "65536", "80-79", "8080:80:90", "80/sctp", "999.1.1.1:80:80", "80-82:90-91", "-1", "80 "],
    ],
    ["dependsOn.0", ["-x", "a b", ""]],
    [
      "volumes.0",
      [
        "/etc:/etc",
        "../x:/x",
        "./a/../../b:/x",
        "data",
        "data:x",
        "data:/",
        "data:/a/../b",
        "data:/x:rx",
        "data:/x,readonly",
        "Data:/x",
        "data:/x\n",
        "/var/run/docker.sock:/var/run/docker.sock",
        "~/x:/x",
      ],
    ],
    ["watchPaths.0", ["", "/etc/**", "../x", "a/../b", "-x", "a[b", "a{b", "a}b", "a\\b", "a\nb"]],
    ["command", ["", "a\nb", "a\u0000b"]],
    ["build.context", ["/etc", "../x", "-x"]],
    ["build.dockerfile", ["/etc/passwd", "a/../../b"]],
    ["environment.KEY", [7, null]],
    ["updateStrategy", ["big-bang"]],
    ["resources.cpus", [0, -1]],
    ["healthCheck.path", ["up", "/a b"]],
  ])("%s that it cannot be", async (field, values) => {
    const [first = "", second] = field.split(".");
    const id = await added("other");
    for (const value of values) {
      const inner = second === undefined ? value : second === "0" ? [value] : { [second]: value };
      const image = first === "build" ? undefined : "postgres:16";
      const body = { name: "web", image, [first]: inner };
      expect(problem(await add(body)), JSON.stringify(value)).toEqual([400, `body.${field}`]);
      if (field === "environment.KEY" && value === null) continue;
      expect(problem(await change(id, { [first]: inner })), JSON.stringify(value)).toEqual([
        400,
        `body.${field}`,
      ]);
    }
  });

  it("the same port, volume target or watched path twice, and both or none of image and build", async () => {
    for (const [more, at] of [
      [{ ports: ["80", "80"] }, "body.ports"],
      [{ volumes: ["a:/x", "b:/x"] }, "body.volumes.1"],
      [{ watchPaths: ["a", "a"] }, "body.watchPaths"],
      [{ build: {} }, "body.build"],
      [{ image: undefined }, "body.image"],
      [{ environment: { "1A": "x" } }, "body.environment.1A"],
      [{ environment: { A: "sealed:v1:env:k:x" } }, "body.environment.A"],
    ] as const) {
      expect(problem(await add({ name: "web", ...more })), JSON.stringify(more)).toEqual([400, at]);
    }
  });
});

describe("whose services they are", () => {
  it("answers foreign, absent and another project's with 404, and refuses a viewer", async () => {
    const id = await added("db");
    const stranger = await platform.organization();
    expect((await stranger.call("GET", path)).status).toBe(404);
    expect((await stranger.call("PATCH", `${path}/${id}`, { command: "x" })).status).toBe(404);
    const second = await addProject(acme.call, serverId, { kind: "monorepo" });
    expect(
      (await acme.call("PATCH", `/api/projects/${second}/services/${id}`, { command: "x" })).status,
    ).toBe(404);
    expect((await acme.call("DELETE", `/api/projects/${second}/services/${id}`)).status).toBe(404);
    const narrow = await acme.with({ projectIds: [second] });
    expect((await narrow("GET", path)).status).toBe(404);
    const viewer = await acme.with({ role: "viewer" });
    expect((await viewer("GET", path)).status).toBe(200);
    expect((await viewer("POST", path, { name: "x", image: "x" })).status).toBe(403);
  });

  it("are not those of an app, which says what to do; an app alone has volumes of its own", async () => {
    const app = await addProject(acme.call, serverId, { volumes: ["data:/data"] });
    for (const [method, body] of [["GET"], ["POST", { name: "a", image: "b" }]] as const) {
      const refused = await acme.call(method, `/api/projects/${app}/services`, body);
      expect([refused.status, refused.body.code]).toEqual([409, "project_has_no_services"]);
      expect(refused.body.error).toContain("kind compose");
    }
    const refused = await acme.call("PATCH", `/api/projects/${projectId}`, { volumes: ["data:/data"] });
    expect(problem(refused)).toEqual([400, "body.volumes"]);
    for (const volumes of [["./x:/x"], ["/etc:/x"], ["a:/x", "b:/x"], ["a:/x,y"]]) {
      expect((await acme.call("PATCH", `/api/projects/${app}`, { volumes })).status).toBe(400);
    }
    expect((await acme.call("GET", `/api/projects/${app}`)).body.data.volumes).toEqual(["data:/data"]);
  });

  it("go with their project, values and all", async () => {
    await added("db", { environment: { A: "x" } });
    expect((await acme.call("DELETE", `/api/projects/${projectId}`)).status).toBe(200);
    expect(await platform.db.$count(projectServices, eq(projectServices.projectId, projectId))).toBe(0);
  });
});
