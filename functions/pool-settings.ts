/**
 * The operator's pool: servers that take the projects of organizations without one of their own, and what each of those
 * projects may use there. Only a cloud has one; elsewhere the variables stop the start, since whoever sets them believes
 * in a limit that nothing would keep. Pure, as `configuration.ts`. That a server is there is asked when it is used.
 */
import { isId } from "../shared/domain/identifier.ts";
import { limits } from "../shared/domain/limits.ts";
import type { PoolLimits } from "../shared/domain/pool.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";

export interface PoolSettings extends PoolLimits {
  /** Empty: there is no pool. */
  serverIds: string[];
}

export const poolVariables = [
  "SLIPWAY_POOL_SERVERS",
  "SLIPWAY_POOL_CPUS",
  "SLIPWAY_POOL_MEMORY_MB",
  "SLIPWAY_POOL_PIDS",
];

type ReadValue = (name: string) => string | undefined;

export function readPool(value: ReadValue, mode: "self-hosted" | "cloud"): PoolSettings {
  const given = poolVariables.find((name) => value(name) !== undefined);
  if (mode !== "cloud" && given !== undefined) {
    throw new StartFailure(
      "configuration_invalid",
      `${given} is set, but only an instance with SLIPWAY_MODE=cloud has a pool. Unset it.`,
    );
  }
  const number = (name: string, otherwise: number, least: number, most: number) =>
    readNumber(name, value(name), { otherwise, least, most });
  return {
    serverIds: readServers(value("SLIPWAY_POOL_SERVERS")),
    cpus: number("SLIPWAY_POOL_CPUS", limits.poolCpus, 0.05, 256),
    memoryMB: whole(
      "SLIPWAY_POOL_MEMORY_MB",
      number("SLIPWAY_POOL_MEMORY_MB", limits.poolMemoryMB, 64, 1_048_576),
    ),
    pids: whole("SLIPWAY_POOL_PIDS", number("SLIPWAY_POOL_PIDS", limits.poolPids, 16, 1_000_000)),
  };
}

function readServers(value = ""): string[] {
  const ids = value.split(",").map((id) => id.trim());
  const wanted = [...new Set(ids.filter((id) => id !== ""))];
  const wrong = wanted.find((id) => !isId("server", id));
  if (wrong === undefined) return wanted;
  throw invalid("SLIPWAY_POOL_SERVERS", `has "${wrong}", not the id of a server`, "srv_01J…,srv_01K…");
}

function readNumber(
  name: string,
  value: string | undefined,
  bounds: { otherwise: number; least: number; most: number },
): number {
  if (value === undefined) return bounds.otherwise;
  const number = Number(value);
  if (/^\d+(\.\d+)?$/.test(value) && number >= bounds.least && number <= bounds.most) return number;
  throw invalid(
    name,
    `is "${value}", not a number from ${bounds.least} to ${bounds.most}`,
    String(bounds.otherwise),
  );
}

function whole(name: string, number: number): number {
  if (Number.isInteger(number)) return number;
  throw invalid(name, `is ${number}, not a whole number`, String(Math.ceil(number)));
}

function invalid(name: string, what: string, example: string): StartFailure {
  return new StartFailure("configuration_invalid", `${name} ${what}. For example: ${example}`);
}
