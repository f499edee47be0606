/** Volumes of an app over its life, and the three ways in which it goes, on a real server. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { type LabProject, type LabWorld, openLabWorld } from "../deploy/lab-world.ts";
import { dockerApp } from "../deploy/sample-apps.ts";
import { openPlatformBeside } from "./beside-deploy.ts";
import type { Caller } from "./platform.ts";

/** Counts its starts in a file of its volume, without being root. */
const counting = {
  Dockerfile: `FROM node:24-bookworm-slim
RUN mkdir /data && chown node:node /data
USER node
COPY app.js /app.js
CMD ["node", "/app.js"]
`,
  "app.js": `process.on("SIGTERM", () => process.exit(0));
const fs = require("node:fs");
fs.appendFileSync("/data/starts", "x");
require("node:http").createServer((request, response) => response.end(fs.readFileSync("/data/starts"))).listen(process.env.PORT);`,
};

/** As the first process of its container it has to be killed, after the 10 s that it gets. */
const stubborn = { "app.js": counting["app.js"].replace(/^process.on.*\n/, "") };

/** Without a Dockerfile: an image of ours, in which nobody has made the folder. */
const detected = {
  "package.json": JSON.stringify({ name: "counting", private: true, scripts: { start: "node app.js" } }),
  "app.js": counting["app.js"],
};

describeWithLab("a project with volumes", (lab) => {
  let world: LabWorld;
  let beside: { call: Caller; close: () => Promise<void> };
  beforeAll(async () => {
    world = await openLabWorld(lab);
    beside = await openPlatformBeside(world);
  });
  afterAll(async () => {
    await beside.close();
    await world.close();
  });

  const remove = (project: LabProject, query = "") =>
    beside.call("DELETE", `/api/projects/${project.id}${query}`);
  const ofProject = async (what: string, project: LabProject) =>
    lab.server.read([
      "sh",
      "-c",
      `docker ${what} --quiet --filter "label=slipway.project=$1"`,
      "list",
      project.id,
    ]);
  const ready = async (project: LabProject) => {
    const done = await project.deploy();
    expect(done).toMatchObject({ status: "ready", error: null });
    return done;
  };
  const folders = (project: LabProject, deployments: string[]) =>
    lab.server.read([
      "sh",
      "-c",
      'cd /var/lib/slipway && for path in "projects/$1" $2; do [ ! -e "$path" ] || echo "$path"; done',
      "folders",
      project.id,
      deployments.map((id) => `operations/${id}`).join(" "),
    ]);

  // Each has a project of its own, and waits for containers most of the time.
  it.concurrent("keeps them over deployments, rollbacks and a plain deletion, which leaves nothing else", async () => {
    const project = await world.project({ ...counting, ...stubborn }, { volumes: ["data:/data"] });
    const first = await ready(project);
    expect((await project.get()).body).toBe("x");
    await project.commit({ "app.js": counting["app.js"] });
    const second = await ready(project);
    expect((await project.get()).body).toBe("xx");
    const logs = await world.organization.call("GET", `/api/deployments/${second.id}/logs`);
    expect(JSON.stringify(logs.body)).toContain("both would write into the project's volumes");
    const back = await world.organization.call("POST", `/api/deployments/${first.id}/rollback`);
    const restored = await project.settled(back.body.data.id);
    expect(restored).toMatchObject({ error: null, status: "ready", mode: "image" });
    expect((await project.get()).body).toBe("xxx");

    expect((await remove(project)).body).toEqual({ success: true });
    expect((await project.get()).status).toBe(404);
    expect(await ofProject("ps --all", project)).toBe("");
    expect(await ofProject("image ls", project)).toBe("");
    expect(await folders(project, [first.id, second.id, back.body.data.id])).toBe("");
    const volume = await ofProject("volume ls", project);
    expect(volume).toBe(`slipway-${project.id.toLowerCase()}-data`);
    expect((await beside.call("GET", `/api/projects/${project.id}`)).status).toBe(404);
    await lab.server.read(["docker", "volume", "rm", volume]);
  });

  it.concurrent("can write into one without a Dockerfile, and loses it when that is asked for", async () => {
    const project = await world.project(detected, { volumes: ["data:/data", "seen:/seen:ro"] });
    await ready(project);
    expect((await project.get()).body).toBe("x");
    expect((await ofProject("volume ls", project)).split("\n")).toHaveLength(2);
    expect((await remove(project, "?volumes=1")).body).toEqual({ success: true });
    expect(await ofProject("volume ls", project)).toBe("");
    expect(await ofProject("ps --all", project)).toBe("");
  });

  it.concurrent("is served on when it is released, also after another project has changed the proxy", async () => {
    const project = await world.project(dockerApp("released"));
    await ready(project);
    expect((await remove(project, "?release=1")).body).toEqual({ success: true });
    const next = await world.project(dockerApp("next"));
    await ready(next);
    expect((await next.get()).body).toContain("next");
    expect((await project.get()).body).toContain("released");
    expect((await remove(next)).status).toBe(200);
    expect((await project.get()).body).toContain("released");
    const containers = await ofProject("ps --all", project);
    await lab.server.read(["docker", "rm", "--force", ...containers.split("\n")]);
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
