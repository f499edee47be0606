/** A removal outlives the process that began it (field notes: nothing is stuck, nothing is left behind). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startRemoval } from "../../../functions/platform/removal/start.ts";
import {
  finalRemovalStates,
  type RemovalEvent,
  type RemovalState,
  removalStates,
} from "../../../functions/platform/removal/states.ts";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import {
  addDeployment,
  addProject,
  addServer,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let projectId: string;
beforeAll(async () => {
  platform = await openTestPlatform({ shell: silentAtFirst() });
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  projectId = await addProject(acme.call, await addServer(acme.call));
  await addDeployment(platform.db, projectId, null);
});

/** Set by a test: the server then answers nothing until the asker is gone. */
let silent = false;
let asked = 0;

function silentAtFirst(): Shell {
  const encoder = new TextEncoder();
  return {
    run: async (_target, command) => {
      asked++;
      if (silent) {
        await new Promise<void>((resolve) => command.signal?.addEventListener("abort", () => resolve()));
        throw command.signal?.reason;
      }
      // Only the proxy's script is given a configuration.
      const stdout = String(command.stdin).includes('"apps"') ? "applied\n" : "gone\n";
      return { code: 0, stdout, stdoutBytes: encoder.encode(stdout), stderr: "" };
    },
    async *stream() {
      yield* [];
      return { code: 0, stderr: "" };
    },
    upload: async () => undefined,
    probeHostKey: async () => ({ key: "", type: "", fingerprint: "" }),
    forget: () => undefined,
    counts: () => ({ connections: 0, channels: 0 }),
    close: async () => undefined,
  };
}

const project = async () => {
  const [row] = await platform.db.select().from(projects).where(eq(projects.id, projectId));
  return row;
};
const by = () => ({
  organizationId: acme.organizationId,
  userId: acme.userId,
  credentialId: "tok_x",
  sourceIp: "192.0.2.7",
  requestId: "req",
});
const start = () =>
  platform.db.transaction((tx) => startRemoval(tx, projectId, { volumes: false, by: by() }));

it("goes on with the next process when the one at work dies half way", async () => {
  silent = true;
  asked = 0;
  const first = platform.startRunner();
  const id = await start();
  await expect.poll(() => asked, { timeout: 10_000 }).toBeGreaterThan(0);
  await first.stop();
  expect(await project()).toMatchObject({ deletedAt: null, deletingAt: expect.any(Date) });
  silent = false;
  const second = platform.startRunner();
  await expect.poll(async () => (await project())?.deletedAt, { timeout: 10_000 }).toBeInstanceOf(Date);
  const [ended] = await platform.db.select().from(operations).where(eq(operations.id, id));
  expect(ended).toMatchObject({ state: "done", error: null });
  const entries = await platform.db.select().from(auditEntries).where(eq(auditEntries.resourceId, projectId));
  expect(entries.filter(({ action }) => action === "project.deleted")).toMatchObject([
    { userId: acme.userId, credentialId: "tok_x", sourceIp: "192.0.2.7" },
  ]);
  await second.stop();
});

it("is the same one when it is asked for again; the project is neither served, deployed nor released meanwhile", async () => {
  const id = await start();
  expect(await start()).toBe(id);
  expect((await acme.call("GET", `/api/projects/${projectId}`)).body.data.deleting).toBe(true);
  for (const query of ["?release=1", "?volumes=1"]) {
    const refused = await acme.call("DELETE", `/api/projects/${projectId}${query}`);
    expect([refused.status, refused.body.code]).toEqual([409, "project_being_deleted"]);
  }
  const runner = platform.startRunner();
  expect((await acme.call("DELETE", `/api/projects/${projectId}`)).body).toEqual({ success: true });
  await runner.stop();
});

it("has a table of states in which every move is allowed or refused", () => {
  const events: RemovalEvent[] = ["start", "finish", "fail", "cancel"];
  const states = Object.keys(removalStates) as RemovalState[];
  const moves = states.flatMap((state) =>
    events.flatMap((event) => {
      const to = removalStates[state][event];
      return to === undefined ? [] : [`${state} ${event} ${to}`];
    }),
  );
  expect(moves).toEqual([
    "queued start removing",
    "queued fail failed",
    "queued cancel cancelled",
    "removing finish done",
    "removing fail failed",
    "removing cancel cancelled",
  ]);
  expect([...finalRemovalStates]).toEqual(["done", "failed", "cancelled"]);
});
