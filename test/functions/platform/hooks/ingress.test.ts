/** From the hook that a git host keeps to the deployment of its push: what was registered is what the ingress takes. */
import { eq } from "drizzle-orm";
import { expect, it } from "vitest";
import { deployments } from "../../../../shared/db/deployment-tables.ts";
import { projects } from "../../../../shared/db/project-tables.ts";
import { edgeUnderTest } from "../../../edge/edge-under-test.ts";
import { signedBy } from "../../../git-host-api-server.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();

it("a push that the host signs with what it was given becomes a deployment; after a rotation only with the new secret", async () => {
  const connectionId = await scene.connect();
  const { kept, ...repository } = scene.repository();
  const { id } = await scene.project({ ...repository, connectionId });
  const edge = edgeUnderTest(scene.platform.db, { sealer: scene.platform.sealer });
  const push = (after: string) => {
    const [hook] = kept.hooks;
    if (hook === undefined) throw new Error("the host has no hook");
    const full_name = `${repository.owner}/${repository.repo}`;
    const body = {
      ...{ ref: "refs/heads/main", before: "a".repeat(40), after: after.repeat(40), deleted: false },
      repository: { full_name, default_branch: "main" },
      head_commit: { id: after.repeat(40), message: "Fix the roof" },
    };
    return signedBy(hook, JSON.stringify(body));
  };
  const deployed = async () => {
    const rows = await scene.platform.db.select().from(deployments).where(eq(deployments.projectId, id));
    return rows.map(({ commitSha }) => commitSha?.[0]).sort();
  };

  const first = push("b");
  expect((await edge.send(first.path, first.init)).status).toBe(200);
  expect(await deployed()).toEqual(["b"]);

  const old = push("c");
  await scene.call("POST", `/api/projects/${id}/link?rotate=1`);
  expect((await edge.send(old.path, old.init)).status).toBe(401);
  const fresh = push("c");
  expect((await edge.send(fresh.path, fresh.init)).status).toBe(200);
  expect(await deployed()).toEqual(["b", "c"]);

  const last = push("d");
  await scene.call("DELETE", `/api/projects/${id}/link`);
  expect((await edge.send(last.path, last.init)).status).toBe(401);
  const [row] = await scene.platform.db.select().from(projects).where(eq(projects.id, id));
  expect(row).toMatchObject({ hookId: null, sealedWebhookSecret: null, hostHook: null });
});
