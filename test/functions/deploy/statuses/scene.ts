/** A project whose repository is at a git host of this machine, and deployments of it that move without a story. */
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createDeploymentKind } from "../../../../functions/deploy/deployment-kind.ts";
import { noteUnderWay } from "../../../../functions/deploy/statuses/note.ts";
import { sendDueStatuses } from "../../../../functions/deploy/statuses/send.ts";
import { insertDeployment } from "../../../../functions/deploy/store.ts";
import { createGitHostApi } from "../../../../shared/adapters/git-host-api-http.ts";
import { gitConnections } from "../../../../shared/db/connection-tables.ts";
import { commitStatuses } from "../../../../shared/db/deployment-tables.ts";
import { operations } from "../../../../shared/db/operation-tables.ts";
import { projects } from "../../../../shared/db/project-tables.ts";
import { newId } from "../../../../shared/domain/identifier.ts";
import { gitSecretPlace } from "../../../../shared/domain/sealed-place.ts";
import type { AnyOperationKind } from "../../../../shared/operations/definition.ts";
import { move } from "../../../../shared/operations/transition.ts";
import { type GitHostApiServer, openGitHostApi } from "../../../git-host-api-server.ts";
import { type ManualClock, manualClock } from "../../../manual-clock.ts";
import { testOutgoing } from "../../../outgoing.ts";
import { recordingLog } from "../../../silent-log.ts";
import { type DeployOrganization, type DeployPlatform, openDeployPlatform } from "../deploy-platform.ts";

export const sha = "c".repeat(40);
/** States and events of the real kind; nothing of its story runs here. */
const kind = createDeploymentKind({} as never) as unknown as AnyOperationKind;

interface Opened {
  platform: DeployPlatform;
  acme: DeployOrganization;
  serverId: string;
  host: GitHostApiServer;
  clock: ManualClock;
  log: ReturnType<typeof recordingLog>;
  /** May set statuses. */
  token: string;
  connectionId: string;
}

export function openStatusScene() {
  const opened = {} as Opened;
  beforeAll(async () => {
    opened.platform = await openDeployPlatform();
  });
  afterAll(() => opened.platform.close());
  beforeEach(async () => {
    opened.host = await openGitHostApi();
    opened.acme = await opened.platform.organization();
    opened.serverId = await opened.platform.addServer(opened.acme);
    opened.clock = manualClock(Date.now());
    opened.log = recordingLog();
    opened.token = opened.host.token("statuses");
    opened.connectionId = await connect(opened.token);
  });
  afterEach(async () => {
    expect(JSON.stringify(opened.log.lines)).not.toContain(opened.token);
    await opened.platform.db.delete(commitStatuses);
    await opened.host.close();
  });

  async function connect(secret: string, change: Partial<typeof gitConnections.$inferInsert> = {}) {
    const row = { id: newId("gitConnection"), organizationId: opened.acme.organizationId };
    const sealedSecret = await opened.platform.sealer.seal("git", gitSecretPlace(row), secret);
    const place = {
      name: "git",
      provider: "git_host",
      baseUrl: opened.host.url,
      kind: "token",
      last4: "",
    } as const;
    await opened.platform.db.insert(gitConnections).values({ ...row, ...place, sealedSecret, ...change });
    return row.id;
  }

  async function shop(connection: string | undefined = opened.connectionId) {
    const kept = opened.host.repository("acme/shop", [sha]);
    const source = {
      kind: "git",
      provider: "git_host",
      owner: "acme",
      repo: "shop",
      connectionId: connection,
    };
    const id = await opened.platform.addProject(opened.acme, opened.serverId, { source: source as never });
    const [row] = await opened.platform.db.select().from(projects).where(eq(projects.id, id));
    return { id, kept, slug: row?.slug ?? "", said: () => kept.statuses.map(({ state }) => state) };
  }

  /** Queued. */
  async function deployment(projectId: string, commitSha: string | null = sha): Promise<string> {
    const { serverId } = opened;
    const { organizationId } = opened.acme;
    const row = {
      organizationId,
      projectId,
      serverId,
      trigger: "manual",
      branch: "main",
      commitSha,
    } as const;
    return opened.platform.db.transaction((tx) => insertDeployment(tx, { ...row, createdBy: null }));
  }

  async function start(id: string) {
    await opened.platform.db.transaction(async (tx) => {
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
    await opened.platform.db.transaction(async (tx) => {
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
      ...{ db: opened.platform.db, sealer: opened.platform.sealer, clock: opened.clock, log: opened.log },
      gitHostApi: createGitHostApi(testOutgoing()),
      baseUrl: "https://slipway.example.com",
    });

  return Object.assign(opened, { connect, shop, deployment, start, end, send });
}
