/** The hook of a project that comes from another instance: its own, with its own secret, and no second one. */
import { expect, it } from "vitest";
import { projects, servers } from "../../../../shared/db/schema.ts";
import { newId } from "../../../../shared/domain/identifier.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();

async function promoted(more: Record<string, unknown>) {
  await scene.connect();
  await scene.platform.db.update(servers).set({ bootstrappedAt: new Date() });
  const { kept, ...repository } = scene.repository();
  const project = { name: "Shop", source: { kind: "git", ...repository } };
  const origin = { originProjectId: newId("project"), connectionBaseUrl: scene.host.url };
  const { data } = await scene.call("POST", "/api/promotions", { ...origin, project, ...more });
  const rows = await scene.platform.db.select().from(projects);
  return { kept, row: rows.find(({ id }) => id === data.projectId) };
}

it("keeps its secret, and makes no hook that signs with another one", async () => {
  const { kept, row } = await promoted({ webhookSecret: "0123456789abcdef" });
  expect(kept.hooks).toEqual([]);
  expect(row).toMatchObject({ hostHook: null, sealedWebhookSecret: expect.any(String) });
});

it("gets a hook like any new project where it brings no secret", async () => {
  const { kept, row } = await promoted({});
  expect(kept.hooks).toHaveLength(1);
  expect(row).toMatchObject({ sealedWebhookSecret: expect.any(String), hostHook: expect.anything() });
});
