import { and, eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { forgetOldStatuses } from "../../../../functions/deploy/statuses/outbox.ts";
import { commitStatuses } from "../../../../shared/db/deployment-tables.ts";
import { auditEntries } from "../../../../shared/db/identity-tables.ts";
import { projects } from "../../../../shared/db/project-tables.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { openStatusScene } from "./scene.ts";

const scene = openStatusScene();
const { connect, shop, deployment, start, end, send } = scene;

describe("a commit status that does not go", () => {
  it("is taken up by the next process where one was killed over it", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    const taken = { leaseToken: 1, leaseUntil: new Date(scene.clock.nowMs() + limits.statusLeaseMs) };
    await scene.platform.db.update(commitStatuses).set(taken);
    await send();
    expect(said()).toEqual([]);
    await scene.clock.advance(limits.statusLeaseMs);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("is tried again with longer and longer rests, and given up after some hours", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    scene.host.before = async () => void scene.host.faults.push({ status: 503 });
    const lookMs = 5 * 60_000;
    const [tries, startMs] = [[] as number[], scene.clock.nowMs()];
    while (scene.clock.nowMs() - startMs < 2 * limits.statusGiveUpMs) {
      const before = scene.host.asked.length;
      await send();
      if (scene.host.asked.length > before) tries.push(scene.clock.nowMs() - startMs);
      await scene.clock.advance(scene.clock.nowMs() - startMs < 60_000 ? 5_000 : lookMs);
    }
    expect(tries.slice(0, 4)).toEqual([0, 5_000, 15_000, 35_000]);
    const last = tries.at(-1) ?? 0;
    expect(last).toBeGreaterThanOrEqual(limits.statusGiveUpMs);
    expect(last).toBeLessThanOrEqual(limits.statusGiveUpMs + limits.statusRetryMostMs + lookMs);
    expect(said()).toEqual([]);
  });

  it("waits as long as the host asks for", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    scene.host.faults.push({ status: 429, headers: { "retry-after": "600" } });
    await send();
    await scene.clock.advance(599_000);
    await send();
    expect(scene.host.asked).toHaveLength(1);
    await scene.clock.advance(1_000);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("for want of rights is noted once at the project, until one goes again", async () => {
    const blind = scene.host.token("hooks");
    const { id, said } = await shop(await connect(blind));
    for (let count = 0; count < 2; count++) {
      const made = await deployment(id);
      await start(made);
      await send();
      await end(made, "live");
      await send();
      await scene.clock.advance(limits.statusGiveUpMs);
      await send();
    }
    expect(scene.host.asked).toHaveLength(4);
    const problem = async () => {
      const [row] = await scene.platform.db.select().from(projects).where(eq(projects.id, id));
      return row?.statusProblem;
    };
    expect(await problem()).toContain("repo:status");
    const noted = and(
      eq(auditEntries.resourceId, id),
      eq(auditEntries.action, "project.commit_statuses_refused"),
    );
    expect(await scene.platform.db.$count(auditEntries, noted)).toBe(1);
    expect(scene.log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);

    scene.host.grant(blind, "statuses");
    await start(await deployment(id));
    await send();
    expect(said()).toEqual(["pending"]);
    expect(await problem()).toBeNull();
  });

  it("for a commit that the host does not have is forgotten without a word at the project", async () => {
    const { id } = await shop();
    await start(await deployment(id, "d".repeat(40)));
    await send();
    await send();
    expect(scene.host.asked).toHaveLength(1);
    const [row] = await scene.platform.db.select().from(projects).where(eq(projects.id, id));
    expect(row?.statusProblem).toBeNull();
  });

  it("stops no other", async () => {
    const broken = await shop(await connect("x", { sealedSecret: "sealed:v1:broken" }));
    const { id, said } = await shop();
    await start(await deployment(broken.id));
    await start(await deployment(id));
    await send();
    expect(said()).toEqual(["pending"]);
    expect(scene.log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("is not sent for a project that is gone, and forgotten after a month", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    await scene.platform.db.update(projects).set({ deletedAt: new Date() }).where(eq(projects.id, id));
    await send();
    expect(said()).toEqual([]);
    await forgetOldStatuses(scene.platform.db, Date.now() + limits.statusesKeptMs - 60_000);
    expect(await scene.platform.db.$count(commitStatuses)).toBe(1);
    await forgetOldStatuses(scene.platform.db, Date.now() + limits.statusesKeptMs + 60_000);
    expect(await scene.platform.db.$count(commitStatuses)).toBe(0);
  });
});
