/** A project of a self-hosted instance, an account in a real second one, and a relay between them that can be broken. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { Answered } from "../running-platform.ts";
import { type Relay, startRelay } from "./relay.ts";
import { type Account, addReadyServer, ok, startTwoInstances, type TwoInstances } from "./two-instances.ts";

export interface LinkedScene {
  two: TwoInstances;
  relay: Relay;
  /** Of the instance, and of the cloud; new ones for each test. */
  acme: Account;
  there: Account;
  projectId: string;
  repo: string;
}

export function openLinkedScene(): LinkedScene {
  const scene = {} as LinkedScene;
  let count = 0;
  beforeAll(async () => {
    scene.two = await startTwoInstances();
    scene.relay = await startRelay(scene.two.cloud.url);
  });
  afterAll(async () => {
    await scene.relay.close();
    await scene.two.close();
  });
  beforeEach(async () => {
    const { two, relay } = scene;
    Object.assign(relay, { swallow: null, isAway: false });
    const [acme, there] = await Promise.all([two.account(two.home), two.account(two.cloud)]);
    const [serverId] = await Promise.all([
      addReadyServer(acme, two.home.db),
      addReadyServer(there, two.cloud.db),
    ]);
    const repo = `shop-${count++}`;
    const source = { kind: "git", owner: "acme", repo, branch: "main" };
    const project = { name: "Shop", serverId, source, build: { port: 3000 }, volumes: ["data:/data"] };
    const projectId = ok(await acme.call("POST", "/api/projects", project), 201).body.data.id;
    Object.assign(scene, { acme, there, projectId, repo });
  });
  return scene;
}

export const link = ({ acme, relay, there }: LinkedScene): Promise<Answered> =>
  acme.call("PUT", "/api/cloud-link", { url: relay.url, token: there.token });

export const promote = ({ projectId, acme }: LinkedScene, call: Account["call"] = acme.call) =>
  call("POST", "/api/deployments", { projectId, deployTarget: "cloud" });

/** Linked, promoted; answers the id of the deployment there. */
export async function promoted(scene: LinkedScene): Promise<string> {
  ok(await link(scene), 200);
  return ok(await promote(scene), 202).body.data.id;
}

export const projectHere = async ({ acme, projectId }: LinkedScene) =>
  ok(await acme.call("GET", `/api/projects/${projectId}`), 200).body.data;

export const projectsThere = ({ two, there }: LinkedScene) =>
  two.cloud.db.select().from(projects).where(eq(projects.organizationId, there.owner.organizationId));

export const deploymentsThere = ({ two, there }: LinkedScene) =>
  two.cloud.db.select().from(deployments).where(eq(deployments.organizationId, there.owner.organizationId));
