/** Idempotency-Key (decisions.md section 1): the first answer again, and never a second effect, whatever dies in between. */
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wallClock as realClock } from "../../shared/adapters/clocks.ts";
import { memberships, tokens } from "../../shared/db/identity-tables.ts";
import { idempotencyAnswers } from "../../shared/db/request-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Forwarder } from "../../shared/ports/forwarder.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { manualClock } from "../manual-clock.ts";
import { edgeUnderTest, seedToken, testOnNode } from "./edge-under-test.ts";

let database: TestDatabase;
let owner: { organizationId: string; userId: string };
let token: string;
beforeAll(async () => {
  database = await openTestDatabase();
  owner = await seedOrganization(database.db);
  ({ token } = await seedToken(database.db, owner));
});
afterAll(() => database.close());

/** A function whose effects can be counted, and that can be held in the middle of one. */
function counting(status = 201) {
  let effects = 0;
  let gate: Promise<void> = Promise.resolve();
  const forwarder: Forwarder = {
    async forward() {
      effects += 1;
      const mine = effects;
      await gate;
      return Response.json({ data: { effect: mine, secret: `made-${mine}` } }, { status });
    },
  };
  return {
    forwarder,
    effects: () => effects,
    hold() {
      const held = Promise.withResolvers<void>();
      gate = held.promise;
      return held.resolve;
    },
  };
}

const freshKey = () => newId("operation");
type Send = ReturnType<typeof edgeUnderTest>["send"];

function post(send: Send, key: string, change: { body?: string; path?: string; as?: string } = {}) {
  return send(change.path ?? "/api/projects", {
    method: "POST",
    token: change.as ?? token,
    body: change.body ?? '{"name":"x"}',
    headers: { "content-type": "application/json", "idempotency-key": key },
  });
}

describe("the same key, caller and request", () => {
  test("gives the first answer again, and has one effect", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    const [first, second] = [await post(send, key), await post(send, key)];
    expect([first.status, second.status, made.effects()]).toEqual([201, 201, 1]);
    expect(await second.text()).toBe(await first.text());
    expect([first, second].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    expect(second.headers.get("content-type")).toBe("application/json");
  });

  test("has one effect however many come at once, through however many edges", async () => {
    const made = counting();
    const edges = [1, 2, 3].map(() =>
      edgeUnderTest(database.db, { forwarder: made.forwarder, clock: realClock }),
    );
    const key = freshKey();
    const answers = await Promise.all(
      Array.from({ length: 15 }, (_, index) => post(edges[index % 3]?.send as Send, key)),
    );
    expect(made.effects()).toBe(1);
    for (const answer of answers) expect([answer.status, (await read(answer)).data.effect]).toEqual([201, 1]);
  });

  test("gives a failure again too: what was refused stays refused", async () => {
    const made = counting(409);
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    expect([(await post(send, key)).status, (await post(send, key)).status, made.effects()]).toEqual([
      409, 409, 1,
    ]);
  });

  test.each([401, 429, 503])("asks again after %d, which says that nothing was begun", async (status) => {
    const made = counting(status);
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    await post(send, key);
    await post(send, key);
    expect(made.effects()).toBe(2);
  });

  test("counts for a day", async () => {
    const made = counting();
    const { send, options } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    await post(send, key);
    await age(limits.idempotencyMs + 1_000);
    await post(send, key);
    expect(made.effects()).toBe(2);
    await age(limits.idempotencyMs + 1_000);
    await options.store.idempotency.purge();
    expect(await database.db.$count(idempotencyAnswers)).toBe(0);
  });
});

describe("another", () => {
  test("body, path or query under the same key is 409", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    await post(send, key);
    for (const change of [{ body: '{"name":"y"}' }, { path: "/api/tokens" }, { path: "/api/projects?x=1" }]) {
      const answer = await post(send, key, change);
      expect([answer.status, (await read(answer)).code]).toEqual([409, "idempotency_key_reused"]);
    }
    expect(made.effects()).toBe(1);
  });

  test("caller with the same key is another request", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const key = freshKey();
    await post(send, key);
    await post(send, key, { as: (await seedToken(database.db, owner)).token });
    expect(made.effects()).toBe(2);
  });

  test("method: reading, streams and requests without a key are never kept", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const headers = { "idempotency-key": freshKey() };
    for (let round = 0; round < 2; round++) {
      await send("/api/projects", { token, headers });
      await send("/api/servers/srv_1/bootstrap", { token, method: "POST", headers });
      await send("/api/projects", { token, method: "POST", body: "{}" });
    }
    expect(made.effects()).toBe(6);
  });

  test("key than visible ASCII is 400", async () => {
    const { send } = edgeUnderTest(database.db);
    for (const key of ["a b", "x".repeat(256), "ü"]) {
      const answer = await post(send, key);
      expect([answer.status, (await read(answer)).details[0].path]).toEqual([400, "header.idempotency-key"]);
    }
  });
});

describe("what dies in between", () => {
  test("a caller who left finds the answer when coming back", async () => {
    const made = counting();
    const release = made.hold();
    const { app, send } = edgeUnderTest(database.db, { forwarder: made.forwarder, clock: realClock });
    const key = freshKey();
    const leaving = new AbortController();
    const request = new Request("http://edge.test/api/projects", {
      method: "POST",
      body: '{"name":"x"}',
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      signal: leaving.signal,
    });
    // Over the wire, who leaves gets no answer.
    const first = Promise.resolve(app.fetch(request, { remoteAddress: "192.0.2.1" })).catch(() => undefined);
    await expect.poll(made.effects).toBe(1);
    leaving.abort();
    release();
    await first;
    const second = await post(send, key);
    expect([second.status, (await read(second)).data.effect, made.effects()]).toEqual([201, 1, 1]);
  });

  test("a second request waits a few seconds for the first, then is told that it is under way", async () => {
    const made = counting();
    const release = made.hold();
    const clock = manualClock(Date.now());
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder, clock });
    const key = freshKey();
    const first = post(send, key);
    await expect.poll(made.effects).toBe(1);
    let late: Response | undefined;
    const second = post(send, key).then((answer) => {
      late = answer;
    });
    await expect
      .poll(
        async () => {
          await clock.advance(limits.idempotencyPollMs);
          return late?.status;
        },
        { timeout: 20_000, interval: 5 },
      )
      .toBe(409);
    await second;
    expect([(await read(late)).code, late?.headers.get("retry-after")]).toEqual([
      "idempotency_in_progress",
      "5",
    ]);
    release();
    expect((await first).status).toBe(201);
    expect((await post(send, key)).headers.get("idempotency-replayed")).toBe("true");
    expect(made.effects()).toBe(1);
  });

  testOnNode.each([
    ["before the function was asked", async () => Promise.reject(new Error("killed")), 0],
    ["after it had done its work", null, 1],
  ] as const)(
    "a process that dies %s leaves no second effect, and says so",
    async (_when, forward, effects) => {
      const made = counting();
      const dying = edgeUnderTest(database.db, {
        forwarder: forward === null ? made.forwarder : { forward },
      });
      // What the process would write next is never written.
      dying.options.store.idempotency.keep = () => Promise.reject(new Error("killed"));
      const key = freshKey();
      expect((await post(dying.send, key)).status).toBeGreaterThanOrEqual(500);
      await age(limits.idempotencyUnderWayMs + 1_000);
      const next = edgeUnderTest(database.db, { forwarder: made.forwarder });
      const again = await post(next.send, key);
      expect([again.status, (await read(again)).code]).toEqual([409, "idempotency_outcome_unknown"]);
      expect(made.effects()).toBe(effects);
    },
  );
});

describe("a kept answer", () => {
  test("lies sealed in the database, bound to its caller", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const [mine, other] = [freshKey(), freshKey()];
    await database.db.delete(idempotencyAnswers);
    await post(send, mine);
    await post(send, other);
    const rows = await database.db.select().from(idempotencyAnswers);
    expect(JSON.stringify(rows)).not.toContain("made-1");
    const [one, two] = rows;
    expect(one?.sealedAnswer).toMatch(/^sealed:v1:idempotency:/);
    if (one === undefined || two === undefined) throw new Error("two answers are kept");
    await database.db
      .update(idempotencyAnswers)
      .set({ sealedAnswer: one.sealedAnswer })
      .where(eq(idempotencyAnswers.keyHash, two.keyHash));
    const statuses = [(await post(send, mine)).status, (await post(send, other)).status].sort();
    expect(statuses).toEqual([201, 500]);
  });

  test("is not for a token that was revoked or whose maker may no longer ask, whatever is cached", async () => {
    const made = counting();
    const { send } = edgeUnderTest(database.db, { forwarder: made.forwarder });
    const revoked = await seedToken(database.db, owner);
    const key = freshKey();
    await post(send, key, { as: revoked.token });
    await database.db.update(tokens).set({ revokedAt: sql`now()` }).where(eq(tokens.id, revoked.id));
    expect((await post(send, key, { as: revoked.token })).status).toBe(401);
    const lowered = await seedOrganization(database.db);
    const theirs = await seedToken(database.db, lowered);
    await post(send, key, { as: theirs.token });
    await database.db
      .update(memberships)
      .set({ role: "viewer" })
      .where(and(eq(memberships.organizationId, lowered.organizationId)));
    expect((await post(send, key, { as: theirs.token })).status).toBe(403);
    expect(made.effects()).toBe(2);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
async function read(answer: Response | undefined): Promise<any> {
  return answer?.json();
}

/** As if everything kept had been written so much earlier. */
async function age(ms: number): Promise<void> {
  await database.db
    .update(idempotencyAnswers)
    .set({ createdAt: sql`${idempotencyAnswers.createdAt} - make_interval(secs => ${ms / 1000})` });
}
