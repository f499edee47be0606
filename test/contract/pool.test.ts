/** A server of a cloud's pool stays out of sight of those whose projects it carries, by every route there is. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { seedOrganization } from "../database.ts";
import { pathOf, sampleOf } from "./samples.ts";
import { type Belongings, openWholeApi, seedBelongings, seedServer } from "./whole-api.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
let token: string;
let has: Belongings;
const hidden = { name: "hidden-name", host: "hidden.example.com", hostKey: "ssh-ed25519 HIDDENKEY" };

beforeAll(async () => {
  api = await openWholeApi();
  const operator = await seedOrganization(api.db);
  const { id } = await seedServer(api, operator.organizationId);
  await api.db.update(servers).set(hidden).where(eq(servers.id, id));
  const { owner, ...tenant } = await seedBelongings(api);
  ({ token } = tenant);
  has = { ...tenant.belongings, servers: id };
  const own = eq(projects.organizationId, owner.organizationId);
  await api.db.update(projects).set({ serverId: id }).where(own);
  await api.db
    .update(deployments)
    .set({ serverId: id })
    .where(eq(deployments.organizationId, owner.organizationId));
});
afterAll(() => api.close());

/** Streams go on, and what deletes comes last. */
const asked = allRoutes
  .filter((route) => route.policy.permission !== "public" && !/stream|bootstrap$/.test(route.path))
  .sort((one, other) => Number(one.method === "delete") - Number(other.method === "delete"));

test.each(asked.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const))(
  "%s tells a tenant nothing of it",
  async (_name, route) => {
    const body = sampleOf(route, has);
    const answer = await api.send(pathOf(route, has), {
      method: route.method.toUpperCase(),
      token,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await answer.text();
    if (route.path.startsWith("/api/servers/{")) expect(answer.status).toBe(404);
    for (const secret of [has.servers, ...Object.values(hidden)]) {
      expect(text).not.toContain(secret);
    }
  },
);
