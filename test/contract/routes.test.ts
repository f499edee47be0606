/** What every route of the contract must do, generated from it (architecture.md section 3), with the real modules. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRouteTable } from "../../edge/router/match-route.ts";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import type { Route } from "../../shared/contract/route.ts";
import {
  expandPermissions,
  isPermission,
  permissionsOfRole,
  permissionTags,
} from "../../shared/domain/permission.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { pathOf, sampleOf, takesBody } from "./samples.ts";
import { type Belongings, openWholeApi, seedBelongings, seedMember } from "./whole-api.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
let owner: { organizationId: string; userId: string };
let token: string;
let viewer: string;
let has: Belongings;

beforeAll(async () => {
  api = await openWholeApi();
  ({ owner, token, belongings: has } = await seedBelongings(api));
  const userId = await seedMember(api.db, owner.organizationId, "viewer");
  viewer = (await seedToken(api.db, { organizationId: owner.organizationId, userId })).token;
});
afterAll(() => api.close());

const named = (routes: readonly Route[]) =>
  routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);

const guarded = allRoutes.filter((route) => route.policy.permission !== "public");

function call(route: Route, as: string | null, changes: { path?: string; body?: string } = {}) {
  const body = changes.body ?? JSON.stringify(sampleOf(route, has));
  return api.send(changes.path ?? pathOf(route, has), {
    method: route.method.toUpperCase(),
    ...(as === null ? {} : { token: as }),
    ...(body === undefined ? {} : { body, headers: { "content-type": "application/json" } }),
  });
}

describe.each(named(guarded))("%s", (_name, route) => {
  test("without a credential is 401", async () => {
    const answer = await call(route, null);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: expect.any(String), code: "unauthenticated" });
  });

  test("with every tag but its own is 403", async () => {
    const needed = route.policy.permission;
    if (needed === "session") {
      const answer = await call(route, token);
      expect([answer.status, await answer.json()]).toMatchObject([403, { code: "session_needed" }]);
      return;
    }
    // These concern the person alone, so that every credential holds them (decisions.md section 2).
    if (needed === "notifications:read" || needed === "notifications:write") return;
    if (!isPermission(needed)) throw new Error(`${needed} is no tag`);
    const others = permissionTags.filter((tag) => !expandPermissions([tag]).has(needed));
    const lacking = await seedToken(api.db, owner, { permissions: others });
    const answer = await call(route, lacking.token);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "forbidden" });
  });

  test("as a viewer is 403, unless its tag is for reading or for every member", async () => {
    const needed = route.policy.permission;
    if (!isPermission(needed)) return;
    const answer = await call(route, viewer);
    const code = answer.status === 403 ? ((await answer.json()) as { code: string }).code : "";
    expect(code === "forbidden").toBe(!permissionsOfRole("viewer").has(needed));
  });

  test("promises the answers that every route has", () => {
    expect(Object.keys(route.documented)).toEqual(
      expect.arrayContaining(["400", "401", "403", "404", "409", "429", "502"]),
    );
  });
});

describe.each(named(guarded.filter((route) => route.path.includes("{"))))("%s", (_name, route) => {
  test("of another organization is 404, as of one that is not there, with the same body", async () => {
    const stranger = await seedBelongings(api);
    const foreign = await call(route, stranger.token);
    const path = route.path.replaceAll(/\{\w+\}/g, "xyz_01J");
    const absent = await call(route, token, { path });
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(await foreign.json()).toEqual(await absent.json());
  });
});

describe.each(named(guarded.filter(takesBody)))("%s", (_name, route) => {
  test("takes a body of its form", async () => {
    const answer = await call(route, token);
    expect(answer.status, await answer.text()).not.toBe(400);
  });
});

test("ids in bodies go through the same door", async () => {
  const stranger = await seedBelongings(api);
  for (const [path, body] of [
    ["/api/deployments", { projectId: has.projects }],
    ["/api/projects", { name: "x", serverId: has.servers, source: { kind: "git", owner: "a", repo: "b" } }],
  ] as const) {
    const answer = await api.send(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
      token: stranger.token,
    });
    expect([path, answer.status]).toEqual([path, 404]);
  }
});

describe("modes", () => {
  test("a route of one mode is an unknown path in the other, in every spelling", async () => {
    const limited = allRoutes.filter((route) => route.policy.modes !== undefined);
    const [sample] = allRoutes;
    if (sample === undefined) throw new Error("no routes");
    const invented = { ...sample, policy: { ...sample.policy, modes: ["self-hosted" as const] } };
    const cloud = createRouteTable("cloud", [...limited, invented as Route]);
    for (const route of [...limited, invented]) {
      expect(cloud(route.method.toUpperCase(), route.path)).toBeNull();
    }
    expect(createRouteTable("self-hosted", [invented as Route])("GET", sample.path)).not.toBeNull();
  });
});

test("every route has a tag, and no two share method and path", () => {
  const keys = allRoutes.map((route) => `${route.method} ${route.path.replaceAll(/\{\w+\}/g, "{}")}`);
  expect(new Set(keys).size).toBe(keys.length);
  for (const { policy } of allRoutes) {
    expect(
      isPermission(policy.permission) || ["public", "member", "session"].includes(policy.permission),
    ).toBe(true);
  }
});
