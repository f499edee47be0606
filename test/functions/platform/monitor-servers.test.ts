/** The server monitor on a scripted shell and a clock of the test; the real shell is in the lab's tests. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { monitorServers } from "../../../functions/platform/monitor-servers.ts";
import { alerts } from "../../../shared/db/notification-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { manualClock } from "../../manual-clock.ts";
import { recordingLog } from "../../silent-log.ts";
import { addServer, type Organization, openTestPlatform, type TestPlatform } from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let serverId: string;
const clock = manualClock(Date.now());
const away = new ShellFailure("unreachable", "The server does not answer.");
const free = (percent: number) => ({ stdout: `1000 ${percent * 10}\n` });

beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  await platform.db.update(servers).set({ deletedAt: new Date() });
  acme = await platform.organization();
  serverId = await addServer(acme.call);
  await platform.db.update(servers).set({ bootstrappedAt: new Date() }).where(eq(servers.id, serverId));
});

const round = async (answer: Error | { stdout: string }) => {
  platform.shell.answer(answer);
  await clock.advance(limits.monitorMs);
  await look();
};

const look = () =>
  monitorServers({
    ...{ db: platform.db, shell: platform.shell.port, sealer: platform.sealer, clock },
    log: recordingLog(),
  });

const raised = async () => {
  const { organizationId } = acme;
  const rows = await platform.db.select().from(alerts).where(eq(alerts.organizationId, organizationId));
  return rows.sort((a, b) => a.id.localeCompare(b.id)).map(({ category }) => category);
};

describe("a server", () => {
  it("is unreachable after three misses in a row, told once, and recovers with the first answer", async () => {
    await round(away);
    await round(away);
    await round(free(50));
    await round(away);
    await round(away);
    expect(await raised()).toEqual([]);
    await round(away);
    await round(away);
    expect(await raised()).toEqual(["server.unreachable"]);
    await round(free(50));
    await round(free(50));
    expect(await raised()).toEqual(["server.unreachable", "server.recovered"]);
  });

  it("has a full disk once under 10 %, and again only after it was at 12 %", async () => {
    for (const percent of [11, 9, 8, 11, 9]) await round(free(percent));
    expect(await raised()).toEqual(["server.disk_low"]);
    for (const percent of [12, 9]) await round(free(percent));
    expect(await raised()).toEqual(["server.disk_low", "server.disk_low"]);
  });

  it("is looked at once a minute, however many processes look", async () => {
    platform.shell.answer(free(50));
    await clock.advance(limits.monitorMs);
    const before = platform.shell.commands.length;
    await Promise.all([look(), look(), look()]);
    await look();
    expect(platform.shell.commands.length - before).toBe(1);
  });

  it("that was never there, or is gone, is not looked at", async () => {
    await platform.db.update(servers).set({ bootstrappedAt: null }).where(eq(servers.id, serverId));
    for (let count = 0; count < 4; count++) await round(away);
    expect(await raised()).toEqual([]);
  });
});
