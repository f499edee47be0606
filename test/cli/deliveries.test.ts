/** `slipway deliveries` against the real edge and modules, with deliveries as a git host sends them. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openWholeApi } from "../contract/whole-api.ts";
import { seedToken } from "../edge/edge-under-test.ts";
import { deliver, openScene, push, seedProject, sha } from "../edge/webhooks/scene.ts";
import { type Home, openHome } from "./run-cli.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
let served: { url: string; close: () => Promise<void> };
let home: Home;
beforeAll(async () => {
  api = await openWholeApi();
  served = await api.open();
  home = await openHome();
});
afterAll(async () => {
  await home.close();
  await served.close();
  await api.close();
});

const scene = openScene(() => api.db);
beforeEach(async () => {
  const { organizationId, ownerId: userId } = scene;
  const { token } = await seedToken(api.db, { organizationId, userId });
  await home.run(["login", served.url, "--token-stdin"], { stdin: `${token}\n` });
});

const run = (argv: string) => home.run(["deliveries", ...argv.split(" ")]);
const json = async (argv: string) => {
  const { code, stdout, stderr } = await run(`${argv} --json`);
  return { code, data: JSON.parse(code === 0 ? stdout : stderr) };
};

it("lists what came and shows why nothing was deployed", async () => {
  await seedProject(scene, { branch: "release" });
  await deliver(api, push(scene));
  const { data } = await json("list --since 1h --status ignored");
  expect(data).toMatchObject([{ branch: "main", reason: "no_matching_project" }]);
  const shown = await run(`show ${data[0].id}`);
  expect(shown.stdout).toMatch(/why +No project matched/);
  expect(shown.stdout).toContain("The project deploys another branch.");
  expect((await run("list")).stdout).toContain("no_matching_project");
  expect((await json("list --branch other")).data).toEqual([]);
  expect((await json("list --status lost")).code).toBe(2);
  expect((await json("list --since yesterday")).code).toBe(2);
});

it("replays, and says why nothing follows or what was started", async () => {
  await seedProject(scene);
  await deliver(api, push(scene, { after: sha("d") }));
  const [{ id }] = (await json("list")).data;
  expect((await run(`replay ${id}`)).stdout).toContain("replay with force deploys it again");
  expect((await run(`replay ${id} --force`)).stdout).toMatch(/^p: dep_\w+ was started\.$/m);
  expect((await json(`show ${id}`)).data.deployments).toHaveLength(2);
});

it("shows deliveries that were turned away, to who runs the instance", async () => {
  await deliver(api, push(scene), { secret: "wrong", from: "198.51.100.7" });
  const { data } = await json("refused");
  expect(data).toMatchObject({ countedBy: "process", since: expect.any(String) });
  expect(data.refused).toContainEqual(
    expect.objectContaining({ source: "198.51.100.7", status: 401, count: 1 }),
  );
  expect((await run("refused")).stdout).toContain("198.51.100.7");
});
