/**
 * Hostile strings through every route of the contract, on the whole platform and a real server that writes down every program it
 * starts. The routes and their fields are read from the contract, so that a new one is attacked as soon as it is there.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import * as domains from "../../shared/contract/domains.ts";
import * as promotions from "../../shared/contract/promotions.ts";
import type { Route } from "../../shared/contract/route.ts";
import * as servers from "../../shared/contract/servers.ts";
import { pathOf, sampleOf, takesBody } from "../contract/samples.ts";
import { type Belongings, seedWebhookDelivery } from "../contract/whole-api.ts";
import { seedSession } from "../edge/edge-under-test.ts";
import {
  addLabServer,
  bootstrap,
  type RunningPlatform,
  startRunningPlatform,
} from "../functions/running-platform.ts";
import type { SharedLab } from "../lab/describe-with-lab.ts";
import type { LabServer } from "../lab/server.ts";
import { textPlaces, withText } from "./every-field.ts";
import { type ExecRecorder, type Execution, recordExecutions } from "./exec-recorder.ts";
import { liveWith } from "./hostile-projects.ts";
import { canaryPattern, type HostileString, hostileStrings } from "./hostile-strings.ts";
import { judgeExecutions } from "./judge-executions.ts";

const attacked = allRoutes.filter(({ policy }) => policy.module !== "edge");
const named = (routes: readonly Route[]) =>
  routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);

export interface OracleSize {
  /** These get a project of their own and go live with it, which takes seconds for each. */
  inProjects: readonly HostileString[];
  /** So many of the things that were made by each route are used afterwards. */
  usedOfEach: number;
}

export function argvOracle({ startServer, git }: SharedLab, { inProjects, usedOfEach }: OracleSize): void {
  let server: LabServer;
  let recorder: ExecRecorder;
  let platform: RunningPlatform;
  let serverId: string;
  let has: Belongings;
  let browser: Record<string, string>;
  /** What a hostile body has made: base path and id. */
  const made: { base: string; id: string }[] = [];

  beforeAll(async () => {
    server = await startServer({ name: "oracle" });
    platform = await startRunningPlatform();
    browser = (await seedSession(platform.db, platform.owner.userId)).headers;
    serverId = await addLabServer(platform, server);
    await bootstrap(platform, serverId);
    recorder = await recordExecutions(server);
    has = await ownOneOfEverything();
  });
  afterAll(async () => {
    await platform?.close();
    await server?.remove();
  });

  const call = (route: Route, path: string, body?: unknown) =>
    platform.call(
      route.method.toUpperCase(),
      path,
      body,
      route.policy.permission === "session" ? { ...browser, authorization: "" } : {},
    );

  /** A second entry of the same server for the routes that change a server, so that the first stays reachable. */
  async function ownOneOfEverything(): Promise<Belongings> {
    const spare = await addLabServer(platform, server);
    const make = async (path: string, body: unknown) => {
      const answer = await platform.call("POST", path, body);
      expect([path, answer.status < 300, answer.text]).toEqual([path, true, answer.text]);
      return answer.body.data as { id: string };
    };
    await git.createRepository("attacked", "shop");
    await git.commit("attacked", "shop", { files: { "index.html": "shop" } });
    const source = { kind: "git", owner: "attacked", repo: "shop", cloneUrl: git.url("attacked", "shop") };
    const project = await make("/api/projects", { name: "Shop", serverId, source });
    const deployment = await make("/api/deployments", { projectId: project.id });
    expect(await platform.settled(deployment.id)).toMatchObject({ status: "ready" });
    const { id: projectOfServices } = await make("/api/projects", {
      name: "Stack",
      serverId,
      kind: "compose",
      source,
    });
    const registry = { name: "images", host: "images.test", username: "nobody", secret: "token-of-nobody" };
    const { id: channelId } = await make("/api/notifications/channels", {
      kind: "in_app",
      label: "feed",
      config: {},
    });
    await platform.call("POST", `/api/notifications/channels/${channelId}/test`);
    const told = await platform.call("GET", "/api/notifications/deliveries");
    const subscribed = await platform.call("PUT", "/api/notifications/subscriptions", {
      ...{ category: "deploy.failed", channelId, enabled: true },
    });
    const connection = { name: "git", baseUrl: "https://git.test", kind: "token", secret: "token-of-nobody" };
    return {
      organizations: platform.owner.organizationId,
      userId: platform.owner.userId,
      invitations: (await make("/api/members", { email: "new@acme.test", role: "viewer" })).id,
      servers: spare,
      "git-connections": (await make("/api/git-connections", connection)).id,
      projects: project.id,
      projectOfServices,
      channels: channelId,
      subscriptions: subscribed.body.data.id,
      deliveries: told.body.data[0].id,
      webhooks: await seedWebhookDelivery(platform.db, platform.owner.organizationId, project.id),
      serviceId: (await make(`/api/projects/${projectOfServices}/services`, { name: "web", image: "web:1" }))
        .id,
      registries: (await make("/api/registries", registry)).id,
      deployments: deployment.id,
      tokens: (await make("/api/tokens", { name: "spare" })).id,
      domainId: (await make(`/api/projects/${project.id}/domains`, { hostname: "attacked.test" })).id,
    };
  }

  /** The sample, at the real server where it says one, and under a name of its own where names are unique. */
  function bodyOf(route: Route): Record<string, unknown> {
    const sample = sampleOf(route, has) ?? {};
    const { host, port, hostKey, privateKey } = server;
    const auth = { kind: "key", privateKey };
    if (route === (servers.createServer as Route)) return { ...sample, host, port, hostKey, auth };
    if (route === (servers.trustHostKey as Route)) return { hostKey, auth };
    if (route === (promotions.promoteProject as Route)) {
      const own = `d${made.length}.promoted.test`;
      return { ...sample, originProjectId: `prj_${made.length}`, domains: [{ hostname: own }] };
    }
    if (route === (domains.createDomain as Route))
      return { ...sample, hostname: `d${made.length}.attacked.test` };
    return sample;
  }

  it.each(named(attacked.filter(takesBody)))(
    "%s answers each with sense, field by field",
    async (_name, route) => {
      const base = pathOf(route, has);
      for (const place of textPlaces(route)) {
        for (const { text } of hostileStrings) {
          const answer = await call(route, base, withText(bodyOf(route), place, text));
          const what = [
            place.path.join("."),
            JSON.stringify(text).slice(0, 60),
            answer.status,
            answer.text.slice(0, 300),
          ];
          expect(answer.status, String(what)).toBeLessThan(500);
          if (answer.body?.code === "validation_failed") {
            const paths: string[] = answer.body.details.map((detail: { path: string }) => detail.path);
            expect(
              paths.some((path) => path.startsWith(`body.${place.path[0]}`)),
              String(what),
            ).toBe(true);
          }
          const id = answer.body?.data?.id;
          // What a promotion makes is a project like any other.
          const promoted = answer.body?.data?.projectId;
          if (answer.status === 201 && route === (promotions.promoteProject as Route)) {
            made.push({ base: "/api/projects", id: promoted });
          } else if (answer.status === 201 && route.path.split("/").length === 3)
            made.push({ base: route.path, id });
        }
      }
    },
  );

  it.each(named(attacked.filter(({ path }) => path.includes("{"))))(
    "%s answers each with sense in place of an id",
    async (_name, route) => {
      const body = takesBody(route) ? bodyOf(route) : undefined;
      for (const { text } of hostileStrings.filter((each) => each.text.length < 2_000)) {
        const path = route.path.replaceAll(/\{\w+\}/g, encodeURIComponent(text));
        const answer = await call(route, path, body);
        expect([400, 401, 403, 404, 409, 415, 429], `${path}: ${answer.status} ${answer.text}`).toContain(
          answer.status,
        );
      }
    },
  );

  it("what they have made can be asked, used and deleted like anything else", async () => {
    expect(made.length).toBeGreaterThan(50);
    let bootstraps = 1;
    const used = new Map<string, number>();
    for (const { base, id } of made) {
      used.set(base, (used.get(base) ?? 0) + 1);
      if ((used.get(base) ?? 0) > usedOfEach) continue;
      const own = attacked.filter(
        ({ path }) => path.startsWith(`${base}/{id}`) && !path.includes("{domainId}"),
      );
      const asked = own.filter((route) => route.method !== "delete" && !takesBody(route));
      for (const route of asked) {
        if (route === (servers.bootstrapServer as Route) && bootstraps-- <= 0) continue;
        const answer = await call(route, route.path.replace("{id}", id));
        expect(
          [200, 201, 202, 400, 404, 409, 502],
          `${route.path}: ${answer.status} ${answer.text}`,
        ).toContain(answer.status);
      }
      if (!own.some(({ method, path }) => method === "delete" && path === `${base}/{id}`)) continue;
      const gone = await platform.call("DELETE", `${base}/${id}`);
      expect([base, gone.status, gone.text]).toEqual([base, 200, gone.text]);
    }
  });

  it("projects full of them go live, back, and away", async () => {
    // The bootstraps before have given the server's proxy to another entry of it.
    expect(await bootstrap(platform, serverId)).toMatchObject({ status: "ready" });
    const values = hostileStrings
      .map(({ text }) => text)
      .filter((text) => !text.includes("\0") && text.length < 65_536);
    const world = { platform, git, serverId, owner: "hostile", values };
    const left = [...inProjects];
    const taken: string[][] = [];
    const work = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift())
        taken.push(await liveWith(world, next));
    };
    await Promise.all([work(), work(), work(), work()]);
    const count = (field: string) => taken.filter((fields) => fields.includes(field)).length;
    for (const field of ["name", "rootDirectory", "branch", "healthPath"]) {
      expect([field, count(field) > 0]).toEqual([field, true]);
    }
    await expectEnvironments(values);
    const { body } = await platform.call("GET", "/api/projects?limit=200");
    for (const { id } of body.data) {
      const gone = await platform.call("DELETE", `/api/projects/${id}`);
      expect([gone.status, gone.text]).toEqual([200, gone.text]);
    }
  }, 600_000);

  /** Every container has every value as it was given. */
  async function expectEnvironments(values: readonly string[]): Promise<void> {
    const format = "{{json .Config.Env}}";
    const ids = (await server.read(["docker", "ps", "--quiet"])).split("\n");
    const shown = (await server.read(["docker", "inspect", "--format", format, ...ids])).split("\n");
    const ours = shown
      .map((line) => JSON.parse(line) as string[])
      .filter((env) => env.some((each) => each.startsWith("VALUE_")));
    expect(ours.length).toBeGreaterThanOrEqual(inProjects.length);
    for (const env of ours)
      expect(env).toEqual(expect.arrayContaining(values.map((value, at) => `VALUE_${at}=${value}`)));
  }

  it("and none was ever run, split or taken for an option", async () => {
    const executions: Execution[] = await recorder.stop();
    const { sightings, faults } = judgeExecutions(executions);
    expect(faults.slice(0, 20)).toEqual([]);
    expect(executions.length).toBeGreaterThan(1_000);
    const seen = new Set(sightings.map(({ mark }) => mark));
    expect(inProjects.filter(({ mark }) => !seen.has(mark))).toEqual([]);
    expect(sightings.some(({ program }) => program.endsWith("/git"))).toBe(true);
    const found = await server.read([
      "sh",
      "-c",
      "find / -path /proc -prune -o -name '*slipway-canary-*' -print",
    ]);
    expect(found.split("\n").filter((path) => canaryPattern.test(path) && !isOfRepository(path))).toEqual([]);
    expect(platform.errors().map(({ message, fields }) => [message, String(fields["err"] ?? "")])).toEqual(
      [],
    );
  });
}

/** Folders of a repository have the strings as names; a canary is an empty file. */
function isOfRepository(path: string): boolean {
  return path.includes("/source/");
}
