/** The notify module on a real database with real senders; its clock is one that a test moves. */
import { randomBytes } from "node:crypto";
import { createMemoryLimiter } from "../../../edge/adapters/memory-limiter.ts";
import { createNotifications, type NotificationsOptions } from "../../../functions/notify/compose.ts";
import { createSealer } from "../../../shared/crypto/seal.ts";
import { hashToken, makeToken } from "../../../shared/crypto/token.ts";
import { memberships, tokens, users } from "../../../shared/db/identity-tables.ts";
import { beginNotifications } from "../../../shared/db/notification-membership.ts";
import { type Alert, raiseAlert } from "../../../shared/db/raise-alert.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { type Permission, permissionTags, type Role } from "../../../shared/domain/permission.ts";
import { refuseUnsigned } from "../../../shared/http/identity-header.ts";
import { openTestDatabase, seedOrganization } from "../../database.ts";
import { manualClock } from "../../manual-clock.ts";
import { loopbackOutgoing } from "../../outgoing.ts";
import { recordingLog } from "../../silent-log.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
export type Answer = { status: number; body: any };
export type Caller = (method: string, path: string, body?: unknown) => Promise<Answer>;

export interface Person {
  organizationId: string;
  userId: string;
  call: Caller;
}

interface TokenLimits {
  permissions?: Permission[];
  projectIds?: string[];
  serverIds?: string[];
}

export type NotifyPlatform = Awaited<ReturnType<typeof openNotifyPlatform>>;

export async function openNotifyPlatform(options: Partial<NotificationsOptions> = {}) {
  const database = await openTestDatabase();
  const { db, listener } = database;
  const clock = manualClock(Date.now());
  const log = recordingLog();
  const stopping = new AbortController();
  const key = randomBytes(32).toString("base64");
  const made: NotificationsOptions = {
    ...{ db, listener, log, clock, smtp: undefined, baseUrl: "https://slipway.example.com" },
    limiter: createMemoryLimiter(() => clock.nowMs()),
    sealer: createSealer({ notify: [{ kid: "t", key }] }),
    outgoing: loopbackOutgoing(),
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
    ...options,
  };
  const notifications = createNotifications(made);

  const callerFor = async (who: { organizationId: string; userId: string }, limits: TokenLimits = {}) => {
    const { permissions = null, projectIds = null, serverIds = null } = limits;
    const id = newId("token");
    const hash = await hashToken(makeToken());
    await db.insert(tokens).values({ id, ...who, name: "test", hash, permissions, projectIds, serverIds });
    const said = { permissions: [...permissionTags], projectIds, serverIds };
    const identity = { ...who, credentialId: id, ...said, sourceIp: "192.0.2.7", requestId: "req_test" };
    const call: Caller = async (method, path, body) => {
      const headers = { "content-type": "application/json" };
      const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
      const answer = await notifications.app.request(`/api/notifications${path}`, init, { identity });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
    };
    return call;
  };

  return {
    ...{ db, clock, log, key, notifications, database },
    pass: notifications.pass,
    callerFor,
    async organization(): Promise<Person> {
      const who = await seedOrganization(db);
      await beginNotifications(db, who);
      return { ...who, call: await callerFor(who) };
    },
    async member({ organizationId }: Person, role: Role = "member"): Promise<Person> {
      const userId = newId("user");
      const email = `${userId.toLowerCase()}@example.com`;
      await db.insert(users).values({ id: userId, email, name: "Ben" });
      await db.insert(memberships).values({ organizationId, userId, role });
      await beginNotifications(db, { organizationId, userId });
      return { organizationId, userId, call: await callerFor({ organizationId, userId }) };
    },
    /** At the time of the test's clock. */
    async raise({ organizationId }: Pick<Person, "organizationId">, alert: Partial<Alert> = {}) {
      await raiseAlert(db, {
        organizationId,
        category: "deploy.failed",
        title: "Deploying shop failed",
        message: "The build ended with 1.",
        resource: { type: "deployment", id: newId("deployment") },
        ...alert,
      });
    },
    async close() {
      stopping.abort();
      await notifications.stop();
      await database.close();
    },
  };
}

/** A verified channel of this kind. */
export async function addChannel(
  person: Person,
  kind: string,
  config: Record<string, unknown>,
): Promise<string> {
  const made = await person.call("POST", "/channels", { kind, label: kind, config });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const { id } = made.body.data;
  const verified = await person.call("PATCH", `/channels/${id}`, { verified: true });
  if (verified.body.data.verified !== true) throw new Error(JSON.stringify(verified.body));
  return id;
}
