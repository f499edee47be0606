/**
 * The platform module on a real database, called as the edge calls it in one process. The shell is a scripted one: what
 * the real one does on a real server is in the lab tests.
 */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { createMemoryLimiter } from "../../../edge/adapters/memory-limiter.ts";
import { createRemovalKind } from "../../../functions/platform/removal/kind.ts";
import { createPlatform } from "../../../functions/platform/routes.ts";
import { createSetUpCode } from "../../../functions/platform/set-up-code.ts";
import { monotonicClock, wallClock } from "../../../shared/adapters/clocks.ts";
import { createGitHostApi } from "../../../shared/adapters/git-host-api-http.ts";
import { createGitHost } from "../../../shared/adapters/git-host-http.ts";
import { createSealer, type Sealer } from "../../../shared/crypto/seal.ts";
import { hashToken, makeToken } from "../../../shared/crypto/token.ts";
import type { Database, Listener } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { memberships, tokens, users } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { type Permission, permissionTags, type Role } from "../../../shared/domain/permission.ts";
import type { Identity } from "../../../shared/domain/principal.ts";
import { refuseUnsigned } from "../../../shared/http/identity-header.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import { createFeed } from "../../../shared/operations/follow.ts";
import { createRunner, type Runner } from "../../../shared/operations/runner.ts";
import type { GitHost } from "../../../shared/ports/git-host.ts";
import type { Outgoing } from "../../../shared/ports/outgoing.ts";
import type { Shell, ShellCommand, ShellResult, ShellTarget } from "../../../shared/ports/shell.ts";
import type { ProxyParts } from "../../../shared/proxy/apply.ts";
import { openTestDatabase, seedOrganization } from "../../database.ts";
import { testOutgoing } from "../../outgoing.ts";
import { silentLog } from "../../silent-log.ts";

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
  body: any;
}

export type Caller = (method: string, path: string, body?: unknown) => Promise<Answer>;

export interface Organization {
  organizationId: string;
  userId: string;
  /** The owner's unlimited token. */
  call: Caller;
  /** Another token: of the owner, or of a new member with this role. */
  with(limits: TokenLimits): Promise<Caller>;
}

export interface TokenLimits {
  role?: Role;
  permissions?: Permission[];
  projectIds?: string[];
  serverIds?: string[];
  expiresAt?: Date;
}

export interface TestPlatform {
  db: Database;
  app: ModuleApp;
  sealer: Sealer;
  shell: ScriptedShell;
  proxy: ProxyParts;
  listener: Listener;
  organization(): Promise<Organization>;
  /** A process that removes projects; more than one may run. */
  startRunner(): Runner;
  close(): Promise<void>;
}

/** `shell`: a real one, for the lab. */
export async function openTestPlatform(
  options: { shell?: Shell; gitHost?: GitHost; outgoing?: Outgoing; poolServers?: readonly string[] } = {},
): Promise<TestPlatform> {
  const { db, listener, close } = await openTestDatabase();
  const shell = scriptedShell();
  const proxy = { db, shell: options.shell ?? shell.port, baseDomain: "apps.test" };
  const ring = () => [{ kid: randomBytes(4).toString("hex"), key: randomBytes(32).toString("base64") }];
  const sealer = createSealer({
    server: ring(),
    env: ring(),
    webhook: ring(),
    git: ring(),
    registry: ring(),
    cloud: ring(),
  });
  const feed = createFeed({ db, listener, clock: wallClock, log: silentLog });
  const gitHostApi = createGitHostApi(options.outgoing ?? testOutgoing());
  const app = createPlatform({
    ...proxy,
    sealer,
    outgoing: testOutgoing(),
    gitHost: options.gitHost ?? createGitHost(testOutgoing()),
    gitHostApi,
    log: silentLog,
    clock: wallClock,
    baseUrl: "https://slipway.example.com",
    poolServers: options.poolServers,
    limiter: createMemoryLimiter(),
    setUpCode: createSetUpCode(() => undefined),
    fingerprintKey: randomBytes(32).toString("base64"),
    verifyIdentity: refuseUnsigned,
    feed,
    exposeMetrics: async () => "",
  });
  const runners: Runner[] = [];
  return {
    db,
    app,
    sealer,
    shell,
    proxy: { ...proxy, sealer },
    listener,
    organization: () => makeOrganization(db, app),
    startRunner: () => {
      const kinds = [createRemovalKind({ ...proxy, sealer, gitHostApi, clock: wallClock, log: silentLog })];
      const work = { db, listener, kinds, owner: "test", concurrency: 4 };
      const runner = createRunner({ ...work, clock: monotonicClock, log: silentLog });
      runners.push(runner);
      runner.start();
      return runner;
    },
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()));
      feed.close();
      await close();
    },
  };
}

async function makeOrganization(db: Database, app: ModuleApp): Promise<Organization> {
  const { organizationId, userId } = await seedOrganization(db);
  const callerFor = async (limits: TokenLimits) => {
    const member = limits.role === undefined ? userId : await addMember(db, organizationId, limits.role);
    return caller(app, await makeIdentity(db, organizationId, member, limits));
  };
  return { organizationId, userId, call: await callerFor({}), with: callerFor };
}

async function addMember(db: Database, organizationId: string, role: Role): Promise<string> {
  const userId = newId("user");
  await db.insert(users).values({ id: userId, email: `${userId}@example.com`, name: "Ben" });
  await db.insert(memberships).values({ organizationId, userId, role });
  return userId;
}

export async function makeIdentity(
  db: Database,
  organizationId: string,
  userId: string,
  limits: TokenLimits,
): Promise<Identity> {
  const credentialId = newId("token");
  const { permissions = null, projectIds = null, serverIds = null, expiresAt = null } = limits;
  const hash = await hashToken(makeToken());
  const row = { id: credentialId, organizationId, userId, name: "test", hash };
  await db.insert(tokens).values({ ...row, permissions, projectIds, serverIds, expiresAt });
  return {
    organizationId,
    userId,
    credentialId,
    // The edge says what the token may; the function narrows it by what the database says now.
    permissions: [...permissionTags],
    projectIds,
    serverIds,
    sourceIp: "192.0.2.7",
    requestId: "req_test",
  };
}

export function caller(app: ModuleApp, identity: Identity): Caller {
  return async (method, path, body) => {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const response = await app.request(path, init, { identity });
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    return { status: response.status, body: type.includes("json") ? JSON.parse(text) : text };
  };
}

/** What the server answers next, in words of a script; every command is kept for the assertions. */
export interface ScriptedShell {
  port: Shell;
  commands: { target: ShellTarget; command: ShellCommand }[];
  forgotten: string[];
  /** Answers to come, the last one again and again. */
  answer(...answers: ScriptedAnswer[]): void;
}

export type ScriptedAnswer = Error | { code?: number; stdout?: string; stderr?: string };

function scriptedShell(): ScriptedShell {
  let answers: ScriptedAnswer[] = [{}];
  const commands: ScriptedShell["commands"] = [];
  const forgotten: string[] = [];
  const run = async (target: ShellTarget, command: ShellCommand): Promise<ShellResult> => {
    commands.push({ target, command });
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next instanceof Error) throw next;
    const stdout = next?.stdout ?? "";
    const stdoutBytes = new TextEncoder().encode(stdout);
    return { code: next?.code ?? 0, stdout, stdoutBytes, stderr: next?.stderr ?? "" };
  };
  const port: Shell = {
    run,
    async *stream() {
      yield* [];
      return { code: 0, stderr: "" };
    },
    upload: async () => undefined,
    probeHostKey: async () => {
      const next = answers[0];
      if (next instanceof Error) throw next;
      return { key: `ssh-ed25519 ${next?.stdout ?? ""}`, type: "ssh-ed25519", fingerprint: "SHA256:abc" };
    },
    forget: (serverId) => void forgotten.push(serverId),
    counts: () => ({ connections: 0, channels: 0 }),
    close: async () => undefined,
  };
  return {
    port,
    commands,
    forgotten,
    answer: (...next) => {
      answers = next;
    },
  };
}

/** A well-formed host key of a type. */
export function hostKey(type = "ssh-ed25519"): string {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(type.length);
  return `${type} ${Buffer.concat([length, Buffer.from(type), randomBytes(36)]).toString("base64")}`;
}

export async function addServer(call: Caller, change: Record<string, unknown> = {}): Promise<string> {
  const auth = { kind: "password", password: "hunter22" };
  const answer = await call("POST", "/api/servers", {
    name: "web-1",
    host: "203.0.113.5",
    auth,
    hostKey: hostKey(),
    ...change,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data.id;
}

export async function addProject(
  call: Caller,
  serverId: string,
  change: Record<string, unknown> = {},
): Promise<string> {
  const source = { kind: "git", owner: "Acme", repo: "Shop" };
  const answer = await call("POST", "/api/projects", { name: "Shop", serverId, source, ...change });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data.id;
}

/** A deployment that is over, with its port; active unless said otherwise. Deployments are another module's business. */
export async function addDeployment(
  db: Database,
  projectId: string,
  hostPort: number | null,
  options: { active?: boolean; state?: string } = {},
): Promise<string> {
  const [project] = await db.select().from(projects).where(eq(projects.id, projectId));
  if (project === undefined) throw new Error("no such project");
  const id = newId("deployment");
  const { organizationId, serverId } = project;
  const state = options.state ?? "ready";
  const final = state === "ready";
  await db
    .insert(operations)
    .values({ id, organizationId, kind: "deployment", subjectId: projectId, state, final, inFlight: !final });
  await db
    .insert(deployments)
    .values({ id, organizationId, projectId, serverId, trigger: "manual", hostPort, containerPort: 3000 });
  if (options.active !== false) {
    await db.update(projects).set({ activeDeploymentId: id }).where(eq(projects.id, projectId));
  }
  return id;
}
