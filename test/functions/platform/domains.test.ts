import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { domains } from "../../../shared/db/project-tables.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import {
  addDeployment,
  addProject,
  addServer,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let serverId: string;
let projectId: string;
let path: string;
let unique = 0;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  serverId = await addServer(acme.call);
  projectId = await addProject(acme.call, serverId);
  path = `/api/projects/${projectId}/domains`;
  platform.shell.commands.length = 0;
  platform.shell.answer({ stdout: "applied\n" });
  unique++;
});

/** Every host name that the last configuration sent to the server routes. */
function routedHosts(): string[] {
  const sent = String(platform.shell.commands.at(-1)?.command.stdin);
  const servers = JSON.parse(sent.slice(sent.indexOf("{"))).apps.http.servers;
  const routes = Object.values(servers).flatMap((server) => (server as { routes: Route[] }).routes);
  return routes.flatMap((route) => route.match?.[0]?.host ?? []);
}
interface Route {
  match?: { host: string[] }[];
}

describe("attaching a host name", () => {
  it("contacts no server while nothing is live, and shows scheme and port", async () => {
    const secure = await acme.call("POST", path, { hostname: `shop${unique}.example.com` });
    expect([secure.status, secure.body.data.url]).toEqual([201, `https://shop${unique}.example.com`]);
    await acme.call("PATCH", `/api/servers/${serverId}`, { publicPorts: { http: 8080, https: 8443 } });
    const plain = await acme.call("POST", path, { hostname: `shop${unique}.test`, targetPath: "/v2" });
    expect(plain.body.data).toMatchObject({
      url: `http://shop${unique}.test:8080`,
      targetPath: "/v2",
      port: null,
    });
    expect(platform.shell.commands).toHaveLength(0);
    const { body } = await acme.call("GET", `/api/projects/${projectId}`);
    expect(body.data.urls).toEqual([
      `https://shop${unique}.example.com:8443`,
      `http://shop${unique}.test:8080`,
    ]);
  });

  it("reaches the proxy at once when the project is live", async () => {
    await addDeployment(platform.db, projectId, 20_001);
    const hostname = `live${unique}.test`;
    expect((await acme.call("POST", path, { hostname })).status).toBe(201);
    expect(routedHosts()).toContain(hostname);
    const { command, target } = platform.shell.commands.at(-1) ?? {};
    expect([target?.serverId, command?.asRoot]).toEqual([serverId, true]);
  });

  it("changes nothing when the server cannot be reached or refuses", async () => {
    await addDeployment(platform.db, projectId, 20_002);
    const hostname = `lost${unique}.test`;
    platform.shell.answer(new ShellFailure("unreachable", "Nothing answers."));
    const lost = await acme.call("POST", path, { hostname });
    expect([lost.status, lost.body.code]).toEqual([502, "unreachable"]);
    platform.shell.answer({ stdout: 'refused\n{"error":"bad\u001bconfig"}' });
    const refused = await acme.call("POST", path, { hostname });
    expect([refused.status, refused.body.code]).toEqual([502, "proxy_refused"]);
    expect(refused.body.error).toContain("bad config");
    expect((await acme.call("GET", path)).body.data).toEqual([]);
    platform.shell.answer({ stdout: "applied\n" });
    expect((await acme.call("POST", path, { hostname })).status).toBe(201);
  });

  it("gives a name to one project of the instance only, however it is taken", async () => {
    const hostname = `one${unique}.example.com`;
    await acme.call("POST", path, { hostname });
    const other = await platform.organization();
    const theirs = await addProject(other.call, await addServer(other.call));
    const slug = (await acme.call("GET", `/api/projects/${projectId}`)).body.data.slug;
    for (const taken of [hostname, `${slug}.apps.test`, "slipway.example.com"]) {
      const answer = await other.call("POST", `/api/projects/${theirs}/domains`, { hostname: taken });
      expect([answer.status, answer.body.code], taken).toEqual([409, "hostname_taken"]);
      expect(JSON.stringify(answer.body)).not.toContain(projectId);
    }
    const free = `free${unique}`;
    await other.call("POST", `/api/projects/${theirs}/domains`, { hostname: `${free}.apps.test` });
    const source = { kind: "git", owner: "a", repo: "b" };
    const wanted = { name: "x", slug: free, serverId, source };
    expect((await acme.call("POST", "/api/projects", wanted)).body.code).toBe("slug_taken");
  });

  it("keeps what lies below a project's own address for its organization, whoever comes first", async () => {
    const other = await platform.organization();
    const theirs = await addProject(other.call, await addServer(other.call));
    const slug = (await acme.call("GET", `/api/projects/${projectId}`)).body.data.slug;
    const below = { hostname: `sign-in.${slug}.apps.test` };
    const refused = await other.call("POST", `/api/projects/${theirs}/domains`, below);
    expect([refused.status, refused.body.code]).toEqual([409, "hostname_taken"]);
    expect((await acme.call("POST", path, below)).status).toBe(201);
    const early = `early${unique}`;
    const hostname = `a.b.${early}.apps.test`;
    expect((await other.call("POST", `/api/projects/${theirs}/domains`, { hostname })).status).toBe(201);
    const wanted = { name: "x", slug: early, serverId, source: { kind: "git", owner: "a", repo: "b" } };
    expect((await acme.call("POST", "/api/projects", wanted)).body.code).toBe("slug_taken");
  });

  it("lets only one of two win who take a name at the same moment", async () => {
    const hostname = `race${unique}.example.com`;
    const answers = await Promise.all(Array.from({ length: 6 }, () => acme.call("POST", path, { hostname })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  it("names every wrong field", async () => {
    for (const [body, field] of [
      [{ hostname: "UPPER.test" }, "hostname"],
      [{ hostname: "a b.test" }, "hostname"],
      [{ hostname: "*.example.com" }, "hostname"],
      [{ hostname: 'a.test"}' }, "hostname"],
      [{ hostname: "{env.HOME}.test" }, "hostname"],
      [{ hostname: "x.test", targetPath: "/{http.request.host}" }, "targetPath"],
      [{ hostname: "x.test", targetPath: "no-slash" }, "targetPath"],
      [{ hostname: "x.test", redirectTo: "javascript:alert(1)" }, "redirectTo"],
      [{ hostname: "x.test", redirectTo: "https://a.test/{env.SECRET}" }, "redirectTo"],
      [{ hostname: "x.test", redirectTo: "http://x.test/loop" }, "redirectTo"],
      [{ hostname: "x.test", redirectTo: "https://y.test", targetPath: "/a" }, "targetPath"],
      [{ hostname: "x.test", port: 9999 }, "port"],
    ] as const) {
      const answer = await acme.call("POST", path, body);
      expect([answer.status, answer.body.details?.[0].path], JSON.stringify(body)).toEqual([
        400,
        `body.${field}`,
      ]);
    }
  });
});

describe("detaching a host name", () => {
  it("takes it off the proxy and frees it", async () => {
    await addDeployment(platform.db, projectId, 20_003);
    const hostname = `gone${unique}.test`;
    const { body } = await acme.call("POST", path, { hostname });
    expect((await acme.call("DELETE", `${path}/${body.data.id}`)).body).toEqual({ success: true });
    expect(routedHosts()).not.toContain(hostname);
    expect((await acme.call("DELETE", `${path}/${body.data.id}`)).status).toBe(404);
    expect((await acme.call("POST", path, { hostname })).status).toBe(201);
  });

  it("keeps it when the server cannot be told", async () => {
    await addDeployment(platform.db, projectId, 20_004);
    const { body } = await acme.call("POST", path, { hostname: `kept${unique}.test` });
    platform.shell.answer({ stdout: "down\n" });
    const refused = await acme.call("DELETE", `${path}/${body.data.id}`);
    expect([refused.status, refused.body.code]).toEqual([502, "proxy_down"]);
    expect((await acme.call("GET", path)).body.data).toMatchObject([{ id: body.data.id }]);
  });

  it("answers a domain of another project with 404", async () => {
    const other = await addProject(acme.call, serverId);
    const { body } = await acme.call("POST", path, { hostname: `mine${unique}.test` });
    expect((await acme.call("DELETE", `/api/projects/${other}/domains/${body.data.id}`)).status).toBe(404);
    expect(await platform.db.$count(domains, eq(domains.id, body.data.id))).toBe(1);
  });
});
