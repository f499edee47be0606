/**
 * Looks at every server once a minute: is it there, and how full is its disk. Three misses in a row make one alert, the
 * first answer afterwards the next; a disk is low once until it was emptied. What it knows lies in the database, so that
 * a restart neither forgets an outage nor tells it twice. Servers that never answered are being set up, not lost.
 */
import { and, eq, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../shared/db/database.ts";
import { serverHealth } from "../../shared/db/notification-tables.ts";
import { type Alert, raiseAlert } from "../../shared/db/raise-alert.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { type SecretOpener, type ServerRow, serverTarget } from "../../shared/db/server-target.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import type { Log } from "../../shared/ports/log.ts";
import { type Shell, ShellFailure } from "../../shared/ports/shell.ts";

export interface MonitorParts {
  db: Database;
  shell: Shell;
  sealer: SecretOpener;
  clock: Clock;
  log: Log;
}

const atOnce = 8;

const diskScript = `
export LC_ALL=C
place=/var/lib
for each in /var/lib/docker /var/lib/containers; do [ ! -d "$each" ] || { place=$each; break; }; done
df -P -k "$place" | awk 'NR==2 { printf "%.0f %.0f\\n", $2, $4 }'
`;

/** One round: every server whose turn has come, in this process or another, once. */
export async function monitorServers(parts: MonitorParts): Promise<void> {
  const due = await takeDue(parts);
  const next = async (): Promise<void> => {
    for (let server = due.pop(); server !== undefined; server = due.pop()) {
      const { id } = server;
      await look(parts, server).catch((error: unknown) =>
        parts.log.warn({ error, serverId: id }, "a server could not be looked at; the next round does"),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** Marks them looked at, so that no other process looks in this minute. */
async function takeDue({ db, clock }: MonitorParts): Promise<ServerRow[]> {
  const now = new Date(clock.nowMs());
  const before = new Date(clock.nowMs() - 0.9 * limits.monitorMs);
  const wasThere = or(isNotNull(servers.bootstrappedAt), sql`${servers.lastCheck} ->> 'ok' = 'true'`);
  return db.transaction(async (tx) => {
    const known = await tx
      .select({ server: servers })
      .from(servers)
      .leftJoin(serverHealth, eq(serverHealth.serverId, servers.id))
      .where(
        and(
          isNull(servers.deletedAt),
          wasThere,
          or(isNull(serverHealth.checkedAt), lte(serverHealth.checkedAt, before)),
        ),
      );
    const taken: ServerRow[] = [];
    for (const { server } of known) {
      const rows = await tx
        .insert(serverHealth)
        .values({ serverId: server.id, checkedAt: now })
        .onConflictDoUpdate({
          target: serverHealth.serverId,
          set: { checkedAt: now },
          setWhere: lte(serverHealth.checkedAt, before),
        })
        .returning({ id: serverHealth.serverId });
      if (rows.length > 0) taken.push(server);
    }
    return taken;
  });
}

/** What one look found. */
type Found = { answers: false; why: string } | { answers: true; freeShare: number | null };

async function look(parts: MonitorParts, server: ServerRow): Promise<void> {
  const found = await ask(parts, server);
  await parts.db.transaction(async (tx) => {
    const [health] = await tx
      .select()
      .from(serverHealth)
      .where(eq(serverHealth.serverId, server.id))
      .for("update");
    if (health === undefined) return;
    const { next, alerts } = judge(health, found, server);
    await tx.update(serverHealth).set(next).where(eq(serverHealth.serverId, server.id));
    for (const alert of alerts) await tell(tx, server, alert);
  });
}

async function ask({ shell, sealer }: MonitorParts, server: ServerRow): Promise<Found> {
  try {
    const { stdout } = await shell.run(serverTarget(server, sealer), {
      argv: ["sh", "-c", diskScript],
      deadlineMs: limits.monitorAskMs,
    });
    const [, total, free] = /^(\d{1,15}) (\d{1,15})\n?$/.exec(stdout) ?? [];
    const known = total !== undefined && Number(total) > 0;
    return { answers: true, freeShare: known ? Number(free) / Number(total) : null };
  } catch (error) {
    if (error instanceof ShellFailure) return { answers: false, why: error.message };
    throw error;
  }
}

interface Health {
  misses: number;
  unreachable: boolean;
  diskLow: boolean;
}

type Said = Pick<Alert, "category" | "title" | "message">;

/** From what was known and what was found to what is known now, and what is told. */
function judge(
  health: Health,
  found: Found,
  { id, name }: { id: string; name: string },
): { next: Health; alerts: Said[] } {
  const { misses, unreachable, diskLow } = health;
  if (!found.answers) {
    const lost = !unreachable && misses + 1 >= limits.monitorMisses;
    const message = `It missed ${limits.monitorMisses} checks in a row. ${found.why}\nTry: slipway server check ${name}`;
    const alerts: Said[] = lost
      ? [{ category: "server.unreachable", title: `The server ${name} does not answer`, message }]
      : [];
    return { next: { misses: misses + 1, unreachable: unreachable || lost, diskLow }, alerts };
  }
  const alerts: Said[] = [];
  if (unreachable) {
    const message = `It missed ${misses} checks. What runs on it was not touched from here meanwhile.`;
    alerts.push({ category: "server.recovered", title: `The server ${name} answers again`, message });
  }
  const share = found.freeShare;
  const low = share !== null && share < limits.diskLowShare;
  if (low && !diskLow) {
    const message = `${Math.floor(share * 100)} % of the disk is free. What fills it: GET /api/servers/${id}/disk`;
    alerts.push({ category: "server.disk_low", title: `The disk of ${name} is almost full`, message });
  }
  const stillLow = diskLow && share !== null && share < limits.diskFineShare;
  return { next: { misses: 0, unreachable: false, diskLow: low || stillLow }, alerts };
}

async function tell(tx: Transaction, server: ServerRow, said: Said): Promise<void> {
  await raiseAlert(tx, {
    ...said,
    organizationId: server.organizationId,
    serverId: server.id,
    resource: { type: "server", id: server.id },
    link: `/api/servers/${server.id}`,
  });
}
