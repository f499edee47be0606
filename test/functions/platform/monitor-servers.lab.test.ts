/** The server monitor's look at a real server: over SSH, with the disk's own figures. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { monitorServers } from "../../../functions/platform/monitor-servers.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { serverHealth } from "../../../shared/db/notification-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { manualClock } from "../../manual-clock.ts";
import { silentLog } from "../../silent-log.ts";
import { addServer, openTestPlatform, type TestPlatform } from "./platform.ts";

describeWithLab("the server monitor on a real server", (lab) => {
  let platform: TestPlatform;
  let shell: Shell;
  beforeAll(async () => {
    shell = createSsh2Shell();
    platform = await openTestPlatform({ shell });
  });
  afterAll(async () => {
    await shell.close();
    await platform.close();
  });

  it("reads how full the disk is, and counts a miss where nobody answers", async () => {
    const { db, sealer } = platform;
    const { call } = await platform.organization();
    const { host, port, hostKey, privateKey } = lab.server;
    const auth = { kind: "key", privateKey };
    const there = await addServer(call, { host, port, hostKey, auth });
    const away = await addServer(call, { host, port: 1, hostKey, auth });
    await db.update(servers).set({ bootstrappedAt: new Date() });
    await monitorServers({ db, shell, sealer, clock: manualClock(Date.now()), log: silentLog });
    const of = async (id: string) =>
      (await db.select().from(serverHealth).where(eq(serverHealth.serverId, id)))[0];
    const disk = await lab.server.read(["df", "-P", "-k", "/var/lib/docker"]);
    const [, total = "1", , free = "0"] = disk.split("\n")[1]?.split(/\s+/) ?? [];
    const diskLow = Number(free) / Number(total) < limits.diskLowShare;
    expect(await of(there)).toMatchObject({ misses: 0, unreachable: false, diskLow });
    expect(await of(away)).toMatchObject({ misses: 1, unreachable: false });
  });
});
