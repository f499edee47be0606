import { and, eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDeploymentKind } from "../../../../functions/deploy/deployment-kind.ts";
import { noteUnderWay } from "../../../../functions/deploy/statuses/note.ts";
import { forgetOldStatuses } from "../../../../functions/deploy/statuses/outbox.ts";
import { sendDueStatuses } from "../../../../functions/deploy/statuses/send.ts";
import { insertDeployment } from "../../../../functions/deploy/store.ts";
import { createGitHostApi } from "../../../../shared/adapters/git-host-api-http.ts";
import {
  auditEntries,
  commitStatuses,
  deployments,
  gitConnections,
  operations,
  projects,
} from "../../../../shared/db/schema.ts";
import { newId } from "../../../../shared/domain/identifier.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { gitSecretPlace } from "../../../../shared/domain/sealed-place.ts";
import type { AnyOperationKind } from "../../../../shared/operations/definition.ts";
import { move } from "../../../../shared/operations/transition.ts";
import { type GitHostApiServer, openGitHostApi } from "../../../git-host-api-server.ts";
import { type ManualClock, manualClock } from "../../../manual-clock.ts";
import { testOutgoing } from "../../../outgoing.ts";
import { recordingLog } from "../../../silent-log.ts";
import { type DeployOrganization, type DeployPlatform, openDeployPlatform } from "../deploy-platform.ts";

let platform: DeployPlatform;
let acme: DeployOrganization;
let host: GitHostApiServer;
let clock: ManualClock;
let token: string;
let connectionId: string;
let serverId: string;
let log: ReturnType<typeof recordingLog>;
beforeAll(async () => {
  platform = await openDeployPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  host = await openGitHostApi();
  acme = await platform.organization();
  serverId = await platform.addServer(acme);
  clock = manualClock(Date.now());
  log = recordingLog();
  token = host.token("statuses");
  connectionId = await connect(token);
});
afterEach(async () => {
  expect(JSON.stringify(log.lines)).not.toContain(token);
  await platform.db.delete(commitStatuses);
  await host.close();
});

const sha = "c".repeat(40);
/** States and events of the real kind; nothing of its story runs here. */
const kind = createDeploymentKind({} as never) as unknown as AnyOperationKind;

async function connect(secret: string, change: Partial<typeof gitConnections.$inferInsert> = {}) {
  const row = { id: newId("gitConnection"), organizationId: acme.organizationId };
  const sealedSecret = await platform.sealer.seal("git", gitSecretPlace(row), secret);
  const place = { name: "git", provider: "git_host", baseUrl: host.url, kind: "token", last4: "" } as const;
  await platform.db.insert(gitConnections).values({ ...row, ...place, sealedSecret, ...change });
  return row.id;
}

async function shop(connection: string | undefined = connectionId) {
  const kept = host.repository("acme/shop", [sha]);
  const source = { kind: "git", provider: "git_host", owner: "acme", repo: "shop", connectionId: connection };
  const id = await platform.addProject(acme, serverId, { source: source as never });
  const [row] = await platform.db.select().from(projects).where(eq(projects.id, id));
  return { id, kept, slug: row?.slug ?? "", said: () => kept.statuses.map(({ state }) => state) };
}

/** Queued. */
async function deployment(projectId: string, commitSha: string | null = sha): Promise<string> {
  const { organizationId } = acme;
  const row = { organizationId, projectId, serverId, trigger: "manual", branch: "main", commitSha } as const;
  return platform.db.transaction((tx) => insertDeployment(tx, { ...row, createdBy: null }));
}

async function start(id: string) {
  await platform.db.transaction(async (tx) => {
    await tx
      .update(operations)
      .set({ state: "building", startedAt: new Date() })
      .where(eq(operations.id, id));
    await noteUnderWay(tx, id);
  });
}

async function end(id: string, event: "live" | "fail" | "cancel" | "supersede", code?: string) {
  const error =
    code === undefined ? null : { code, message: "secret words", hint: null, logTail: ["secret"] };
  await platform.db.transaction(async (tx) => {
    const [row] = await tx.select().from(operations).where(eq(operations.id, id));
    if (row === undefined) throw new Error("no such deployment");
    const from = event === "live" ? "deploying" : row.state;
    await tx.update(operations).set({ state: from }).where(eq(operations.id, id));
    const { subjectId } = row;
    await move(tx, { kind, id, subjectId, from, event, condition: sql`true`, more: { error } });
  });
}

const send = () =>
  sendDueStatuses({
    ...{ db: platform.db, sealer: platform.sealer, clock, log },
    gitHostApi: createGitHostApi(testOutgoing()),
    baseUrl: "https://slipway.example.com",
  });

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
    await platform.db.update(deployments).set({ commitSha: sha }).where(eq(deployments.id, made));
    await start(made);
    await send();
    await start(made);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("is nobody's business without a connection that has a token", async () => {
    const key = await connect("key", { kind: "deploy_key" });
    const gone = await connect(token, { deletedAt: new Date() });
    for (const connection of ["gcn_none", key, gone]) {
      const made = await deployment((await shop(connection)).id);
      await start(made);
      await end(made, "live");
    }
    expect(await platform.db.$count(commitStatuses)).toBe(0);
  });

  it("of an upload to a git project is none", async () => {
    const made = await deployment((await shop()).id);
    const config = { source: { kind: "upload" } };
    await platform.db.update(deployments).set({ config }).where(eq(deployments.id, made));
    await start(made);
    expect(await platform.db.$count(commitStatuses)).toBe(0);
  });
});

describe("the order of what a git host is told", () => {
  it("never says pending after the end, although pending could not be sent", async () => {
    const { id, said } = await shop();
    const made = await deployment(id);
    await start(made);
    host.faults.push({ status: 502 });
    await send();
    await end(made, "live");
    await send();
    await clock.advance(limits.statusRetryMostMs);
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
    host.before = async ({ body }) => {
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
    host.before = async () => {
      if (!frozen) return;
      frozen = false;
      await clock.advance(limits.statusLeaseMs + 1);
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

describe("a commit status that does not go", () => {
  it("is taken up by the next process where one was killed over it", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    const taken = { leaseToken: 1, leaseUntil: new Date(clock.nowMs() + limits.statusLeaseMs) };
    await platform.db.update(commitStatuses).set(taken);
    await send();
    expect(said()).toEqual([]);
    await clock.advance(limits.statusLeaseMs);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("is tried again with longer and longer rests, and given up after some hours", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    host.before = async () => void host.faults.push({ status: 503 });
    const lookMs = 5 * 60_000;
    const [tries, startMs] = [[] as number[], clock.nowMs()];
    while (clock.nowMs() - startMs < 2 * limits.statusGiveUpMs) {
      const before = host.asked.length;
      await send();
      if (host.asked.length > before) tries.push(clock.nowMs() - startMs);
      await clock.advance(clock.nowMs() - startMs < 60_000 ? 5_000 : lookMs);
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
    host.faults.push({ status: 429, headers: { "retry-after": "600" } });
    await send();
    await clock.advance(599_000);
    await send();
    expect(host.asked).toHaveLength(1);
    await clock.advance(1_000);
    await send();
    expect(said()).toEqual(["pending"]);
  });

  it("for want of rights is noted once at the project, until one goes again", async () => {
    const blind = host.token("hooks");
    const { id, said } = await shop(await connect(blind));
    for (let count = 0; count < 2; count++) {
      const made = await deployment(id);
      await start(made);
      await send();
      await end(made, "live");
      await send();
      await clock.advance(limits.statusGiveUpMs);
      await send();
    }
    expect(host.asked).toHaveLength(4);
    const problem = async () => {
      const [row] = await platform.db.select().from(projects).where(eq(projects.id, id));
      return row?.statusProblem;
    };
    expect(await problem()).toContain("repo:status");
    const noted = and(
      eq(auditEntries.resourceId, id),
      eq(auditEntries.action, "project.commit_statuses_refused"),
    );
    expect(await platform.db.$count(auditEntries, noted)).toBe(1);
    expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);

    host.grant(blind, "statuses");
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
    expect(host.asked).toHaveLength(1);
    const [row] = await platform.db.select().from(projects).where(eq(projects.id, id));
    expect(row?.statusProblem).toBeNull();
  });

  it("stops no other", async () => {
    const broken = await shop(await connect("x", { sealedSecret: "sealed:v1:broken" }));
    const { id, said } = await shop();
    await start(await deployment(broken.id));
    await start(await deployment(id));
    await send();
    expect(said()).toEqual(["pending"]);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("is not sent for a project that is gone, and forgotten after a month", async () => {
    const { id, said } = await shop();
    await start(await deployment(id));
    await platform.db.update(projects).set({ deletedAt: new Date() }).where(eq(projects.id, id));
    await send();
    expect(said()).toEqual([]);
    await forgetOldStatuses(platform.db, Date.now() + limits.statusesKeptMs - 60_000);
    expect(await platform.db.$count(commitStatuses)).toBe(1);
    await forgetOldStatuses(platform.db, Date.now() + limits.statusesKeptMs + 60_000);
    expect(await platform.db.$count(commitStatuses)).toBe(0);
  });
});
