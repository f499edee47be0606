/**
 * Reaches a server and says what is on it. A failure is the answer, not an error (decisions.md section 1). The clock is
 * asked in a second, tiny command: on a warm session half a round trip says when the server read it.
 */
import { eq } from "drizzle-orm";
import { servers } from "../../shared/db/server-tables.ts";
import { type SecretOpener, type ServerRow, serverTarget } from "../../shared/db/server-target.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { Clock } from "../../shared/ports/clock.ts";
import { type Shell, ShellFailure, type ShellTarget } from "../../shared/ports/shell.ts";
import { checkScript, readFacts } from "./check-script.ts";
import type { PlatformParts } from "./parts.ts";

export interface ServerCheck {
  ok: boolean;
  error?: string;
  code?: string;
  os: string | null;
  architecture: string | null;
  engine: { name: string; version: string } | null;
  proxy: { name: string; version: string } | null;
  systemd: boolean;
  sudo: boolean;
  diskFreeMB: number | null;
  diskTotalMB: number | null;
  memoryTotalMB: number | null;
  memoryAvailableMB: number | null;
  clockSkewMs: number | null;
  ready: boolean;
}

const checkMs = 20_000;

export async function checkServer(
  parts: PlatformParts,
  principal: Principal,
  id: string,
): Promise<ServerCheck> {
  const server = await load(parts.db, principal, "server", id);
  const found = await inspectServer(parts, server);
  await parts.db
    .update(servers)
    .set({ lastCheck: { ...found } })
    .where(eq(servers.id, id));
  return found;
}

interface InspectParts {
  shell: Shell;
  sealer: SecretOpener;
  clock: Clock;
}

export async function inspectServer(parts: InspectParts, server: ServerRow): Promise<ServerCheck> {
  const target = serverTarget(server, parts.sealer);
  try {
    const { stdout } = await parts.shell.run(target, {
      argv: ["sh", "-c", checkScript],
      deadlineMs: checkMs,
    });
    const facts = readFacts(stdout);
    if (facts.get("done") !== "yes") {
      return failed(
        "check_failed",
        "The server answered, but not with what the check asked. Is its shell a POSIX shell?",
      );
    }
    return answer(facts, await clockSkew(parts, target));
  } catch (error) {
    if (error instanceof ShellFailure) return failed(error.reason, error.message);
    throw error;
  }
}

function answer(facts: ReadonlyMap<string, string>, clockSkewMs: number | null): ServerCheck {
  const sudo = facts.get("sudo") === "yes";
  const engine = named(facts, "docker", "engine_docker") ?? named(facts, "podman", "engine_podman");
  const proxy = named(facts, "caddy", "caddy");
  const tools = facts.has("git") && facts.has("curl") && facts.has("proxy_runs");
  const denied = {
    error: "Slipway needs root on this server, or a user with sudo that asks for no password.",
    code: "sudo",
  };
  return {
    ok: sudo,
    ...(sudo ? {} : denied),
    os: facts.get("os") || null,
    architecture: facts.get("architecture") || null,
    engine,
    proxy,
    systemd: facts.has("systemd"),
    sudo,
    diskFreeMB: megabytes(facts.get("disk_free_kb")),
    diskTotalMB: megabytes(facts.get("disk_total_kb")),
    memoryTotalMB: megabytes(facts.get("memory_total_kb")),
    memoryAvailableMB: megabytes(facts.get("memory_available_kb")),
    clockSkewMs,
    ready: sudo && engine !== null && proxy !== null && tools,
  };
}

function failed(code: string, error: string): ServerCheck {
  const nothing = { os: null, architecture: null, engine: null, proxy: null, systemd: false, sudo: false };
  const unknown = { diskFreeMB: null, diskTotalMB: null, memoryTotalMB: null, memoryAvailableMB: null };
  return { ok: false, error, code, ...nothing, ...unknown, clockSkewMs: null, ready: false };
}

function named(facts: ReadonlyMap<string, string>, name: string, fact: string) {
  const version = facts.get(fact);
  return version ? { name, version } : null;
}

function megabytes(kilobytes: string | undefined): number | null {
  return kilobytes !== undefined && /^\d{1,15}$/.test(kilobytes)
    ? Math.floor(Number(kilobytes) / 1024)
    : null;
}

/** Server time minus ours, in ms; null where `date` knows no milliseconds. */
async function clockSkew(parts: InspectParts, target: ShellTarget): Promise<number | null> {
  const beforeMs = parts.clock.nowMs();
  const { stdout } = await parts.shell.run(target, { argv: ["date", "+%s%3N"], deadlineMs: checkMs });
  const afterMs = parts.clock.nowMs();
  return /^\d{12,14}\n?$/.test(stdout) ? Math.round(Number(stdout) - (beforeMs + afterMs) / 2) : null;
}
