import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { namesOf } from "../../../functions/deploy/pipeline/names.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { LabServer } from "../../lab/server.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp } from "./sample-apps.ts";

describeWithLab("cancelling a deployment on a real server", (lab) => {
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab);
  });
  afterAll(() => world.close());

  /** Waits for a line of the log. */
  const line = async (id: string, text: string) => {
    for await (const page of world.platform.feed.follow(id, 0, AbortSignal.timeout(60_000))) {
      if (page.some(({ data }) => String(data["line"]).includes(text))) return;
    }
    throw new Error(`no line with ${text}`);
  };
  const cancel = (id: string) => world.organization.call("POST", `/api/deployments/${id}/cancel`);

  it("ends the build's processes before it answers, and leaves nothing of it", async () => {
    const project = await world.project(dockerApp("stays"));
    expect(await project.deploy()).toMatchObject({ status: "ready", error: null });
    const sleep = `/usr/bin/sleep-${project.id.slice(-8)}`;
    await project.commit({
      Dockerfile: `FROM node:24-bookworm-slim\nRUN cp /usr/bin/sleep ${sleep} && echo about to sleep && ${sleep} 300\n`,
    });
    const started = await project.start();
    await line(started.id, "about to sleep");
    await expect.poll(() => processes(lab.server, sleep), { timeout: 30_000 }).toBeGreaterThan(0);

    const answer = await cancel(started.id);
    expect([answer.status, answer.body.data.status]).toEqual([200, "cancelled"]);
    expect(await processes(lab.server, sleep)).toBe(0);
    expect(await leftovers(lab.server, { id: started.id, projectId: project.id })).toEqual([]);
    expect((await project.get()).body).toBe("stays");
    expect((await cancel(started.id)).status).toBe(400);
  });

  it("ends a container that is not well yet, and the version before goes on serving", async () => {
    const project = await world.project(dockerApp("before"));
    const first = await project.deploy();
    expect(first).toMatchObject({ status: "ready", error: null });
    await project.commit({ "app.js": 'console.log("deaf"); setInterval(() => {}, 1000);' });
    const started = await project.start();
    for await (const page of world.platform.feed.follow(started.id, 0, AbortSignal.timeout(60_000))) {
      if (page.some(({ data }) => data["phase"] === "health")) break;
    }
    const answer = await cancel(started.id);
    expect([answer.status, answer.body.data.status]).toEqual([200, "cancelled"]);
    expect(await leftovers(lab.server, { id: started.id, projectId: project.id })).toEqual([]);
    expect((await project.get()).body).toBe("before");
    const [row] = await world.platform.db.select().from(deployments).where(eq(deployments.id, started.id));
    expect(row).toMatchObject({ hostPort: null, artifact: "none" });
    expect((await cancel(first.id)).body).toMatchObject({ success: false, code: "already_over" });
  });

  it("cancels one that hangs at a silent git host", async () => {
    const project = await world.project(dockerApp("x"));
    const speak = await lab.git.silence(project.owner, project.repo);
    try {
      const started = await project.start();
      await line(started.id, "Fetching the head");
      const answer = await cancel(started.id);
      expect([answer.status, answer.body.data.status]).toEqual([200, "cancelled"]);
      expect(await processes(lab.server, project.url)).toBe(0);
    } finally {
      await speak();
    }
  });

  it("replaces a waiting deployment by a newer one, and cancels one that nobody works on", async () => {
    const project = await world.project({
      Dockerfile: "FROM node:24-bookworm-slim\nRUN echo building now && sleep 300\n",
    });
    const running = await project.start();
    await line(running.id, "building now");
    const waiting = await project.start();
    const newer = await project.start();
    expect(await project.settled(waiting.id)).toMatchObject({
      status: "cancelled",
      error: { code: "superseded" },
    });
    expect((await cancel(newer.id)).body.data.status).toBe("cancelled");
    expect((await cancel(running.id)).body.data.status).toBe("cancelled");
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});

/** Processes of the server, in whatever container, whose command line holds the text. */
async function processes(server: LabServer, text: string): Promise<number> {
  // Read on standard input, so that the question does not find itself.
  const script = `read -r text; for file in /proc/[0-9]*/cmdline; do
    { tr '\\0' ' ' <"$file" | grep -qF -- "$text"; } 2>/dev/null && echo "$file"
  done`;
  const { stdout } = await server.exec(["sh", "-c", script], { input: `${text}\n` });
  return stdout.split("\n").filter((line) => line !== "").length;
}

/** What a deployment has on the server. */
async function leftovers(
  server: LabServer,
  deployment: { id: string; projectId: string },
): Promise<string[]> {
  const names = namesOf(deployment);
  const script = `
    docker ps -a --format '{{.Names}}' | grep -x "$1"
    docker image ls --format '{{.Repository}}:{{.Tag}}' | grep -x "$2"
    [ ! -e "$3" ] || echo "$3"
    grep -lsF -- "$4" /proc/[0-9]*/root/etc/hosts
    systemctl list-units --all --plain --no-legend "slipway-$5*"`;
  const args = [names.container, names.image, names.directory, names.marker, deployment.id];
  const { stdout } = await server.exec(["sh", "-c", script, "leftovers", ...args]);
  return stdout.split("\n").filter((line) => line !== "");
}
