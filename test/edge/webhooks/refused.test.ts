/** Who sees the deliveries that were refused: those who run the instance (decisions.md section 5). */
import { expect, test } from "vitest";
import { edgeUnderTest, onNode, seedToken, testOnNode } from "../edge-under-test.ts";
import { deliver, openScene, push, seedProject } from "./scene.ts";

const scene = openScene();
const owner = () => ({ organizationId: scene.organizationId, userId: scene.ownerId });
const path = "/api/webhooks/deliveries/refused";

testOnNode("refused deliveries are shown by minute and source, of the last hour, newest first", async () => {
  const edge = edgeUnderTest(scene.db);
  await seedProject(scene);
  const { token } = await seedToken(scene.db, owner());
  const refuse = (from: string) => deliver(edge, push(scene), { secret: "wrong", from });
  await refuse("192.0.2.8");
  await refuse("192.0.2.8");
  await edge.clock.advance(60_000);
  await refuse("192.0.2.9");
  const ask = async (query = "") =>
    ((await (await edge.send(`${path}${query}`, { token })).json()) as { data: { refused: unknown[] } }).data;
  expect(await ask()).toMatchObject({
    countedBy: "process",
    refused: [
      { source: "192.0.2.9", status: 401, count: 1 },
      { source: "192.0.2.8", status: 401, count: 2 },
    ],
  });
  expect((await ask("?limit=1")).refused).toHaveLength(1);
  await edge.clock.advance(3_700_000);
  expect((await ask()).refused).toEqual([]);
});

test("neither a token without organization:admin, nor a narrowed one, nor anyone in the cloud sees them", async () => {
  const edge = edgeUnderTest(scene.db);
  const reader = await seedToken(scene.db, owner(), { permissions: ["webhook:read"] });
  const narrow = await seedToken(scene.db, owner(), { projectIds: [await seedProject(scene)] });
  for (const { token } of [reader, narrow]) {
    const answer = await edge.send(path, { token });
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: "not_of_the_instance" }]);
  }
  const all = await seedToken(scene.db, owner());
  expect((await edge.send(`${path}?limit=0`, { token: all.token })).status).toBe(400);
  if (!onNode) return;
  const cloud = edgeUnderTest(scene.db, { mode: "cloud" });
  // There the path is one of a delivery, which the module does not have.
  expect((await cloud.send(path, { token: all.token })).status).toBe(200);
  expect(cloud.reached.map(({ module }) => module)).toEqual(["deploy"]);
});
