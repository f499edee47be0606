import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { commitStatuses, deployments } from "../../../../shared/db/deployment-tables.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { openStatusScene, sha } from "./scene.ts";

const scene = openStatusScene();
const { connect, shop, deployment, start, end, send } = scene;

describe("the commit of a deployment", () => {
  it("is pending when it starts and a success when it is live, with a link to the deployment", async () => {
    const { id, kept, slug } = await shop();
    const made = await deployment(id);
    await send();
    expect(kept.statuses).toEqual([]);
    await start(made);
    await send();
    await end(made, "live");
    await send();
    await send();
    const common = {
      sha,
      context: `slipway/${slug}`,
      target_url: `https://slipway.example.com/api/deployments/${made}`,
    };
    expect(kept.statuses).toEqual([
      { ...common, state: "pending", description: "Being deployed" },
      { ...common, state: "success", description: "Live" },
    ]);
  });

  const ends: ["fail" | "cancel" | "supersede", string | undefined, string, string][] = [
    ["fail", "build_failed", "failure", "Not deployed: build failed"],
    ["fail", "health_check_failed", "failure", "Not deployed: health check failed"],
    ["fail", "server_unreachable", "error", "Not deployed: server unreachable"],
    ["cancel", "cancelled", "error", "Cancelled"],
    ["supersede", "superseded", "error", "Replaced by a newer deployment"],
  ];
  it.each(ends)("after %s with %s is a %s that tells no secret", async (event, code, state, description) => {
    const { id, kept } = await shop();
    const made = await deployment(id);
    if (event !== "supersede") await start(made);
    await end(made, event, code);
    await send();
    expect(kept.statuses).toMatchObject([{ state, description }]);
  });

  it("is told of as soon as the fetch knows which one it is", async () => {
    const { id, said } = await shop();
    const made = await deployment(id, null);
    await start(made);
    await send();
    expect(said()).toEqual([]);
    await scene.platform.db.update(deployments).set({ commitSha: sha }).where(eq(deployments.id, made));
    await start(made);
    await send();
    await start(made);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("is nobody's business without a connection that has a token", async () => {
    const key = await connect("key", { kind: "deploy_key" });
    const gone = await connect(scene.token, { deletedAt: new Date() });
    for (const connection of ["gcn_none", key, gone]) {
      const made = await deployment((await shop(connection)).id);
      await start(made);
      await end(made, "live");
    }
    expect(await scene.platform.db.$count(commitStatuses)).toBe(0);
  });

  it("of an upload to a git project is none", async () => {
    const made = await deployment((await shop()).id);
    const config = { source: { kind: "upload" } };
    await scene.platform.db.update(deployments).set({ config }).where(eq(deployments.id, made));
    await start(made);
    expect(await scene.platform.db.$count(commitStatuses)).toBe(0);
  });
});

describe("the order of what a git host is told", () => {
  it("never says pending after the end, although pending could not be sent", async () => {
    const { id, said } = await shop();
    const made = await deployment(id);
    await start(made);
    scene.host.faults.push({ status: 502 });
    await send();
    await end(made, "live");
    await send();
    await scene.clock.advance(limits.statusRetryMostMs);
    await send();
    expect(said()).toEqual(["success"]);
  });

  it("ends with the newest deployment of a commit, whatever an older one says late", async () => {
    const { id, said } = await shop();
    const [older, newer] = [await deployment(id), await deployment(id)];
    await start(older);
    await start(newer);
    await end(older, "fail", "build_failed");
    await end(newer, "live");
    await send();
    expect(said()).toEqual(["success"]);
  });

  it("hears nothing of a waiting deployment that was replaced while another one of its commit runs", async () => {
    const { id, said } = await shop();
    const running = await deployment(id);
    await start(running);
    await end(await deployment(id), "supersede", "superseded");
    await end(running, "live");
    await send();
    expect(said()).toEqual(["success"]);
  });

  it("is kept by two senders at once, each status sent once", async () => {
    const { id, said } = await shop();
    const made = await deployment(id);
    await start(made);
    await Promise.all([send(), send()]);
    await end(made, "live");
    await Promise.all([send(), send()]);
    expect(said()).toEqual(["pending", "success"]);
  });

  it("a word that comes while the one before is on its way is sent after it", async () => {
    const { id, said } = await shop();
    const made = await deployment(id);
    await start(made);
    scene.host.before = async ({ body }) => {
      if (body?.["state"] === "pending") await end(made, "live");
    };
    await send();
    await send();
    expect(said()).toEqual(["pending", "success"]);
  });

  it("is put right when a sender that was frozen past its lease has said something old", async () => {
    const { id, said } = await shop();
    const made = await deployment(id);
    await start(made);
    let frozen = true;
    scene.host.before = async () => {
      if (!frozen) return;
      frozen = false;
      await scene.clock.advance(limits.statusLeaseMs + 1);
      await end(made, "live");
      await send();
    };
    await send();
    expect(said()).toEqual(["success", "pending"]);
    await send();
    expect(said()).toEqual(["success", "pending", "success"]);
    await send();
    expect(said()).toHaveLength(3);
  });
});
