/**
 * Brings the environment into a container without showing it in any argument list, with every value byte for byte.
 * Single-line values go through `--env-file`, which the engine's client reads without making them its own environment;
 * values that such a file cannot hold are exported for `--env NAME`, and then a name that would steer the client itself
 * (its loader, its engine, its proxy) is refused. Rejected: `--env NAME=value` (the process table shows it to all users
 * of the server) and exporting everything (`LD_PRELOAD` or `DOCKER_HOST` of a project would act on the server).
 */
import { quote } from "../../../shared/shell/quote.ts";
import { DeployFailure } from "../failure.ts";
import type { Environment } from "../snapshot.ts";

export interface PassedEnvironment {
  /** Shell text for standard input; the script evaluates it in the subshell that becomes the client. */
  stdin: string;
  /** Arguments for the client: names only. */
  argv: string[];
}

/** The client reads an env file in lines of at most 64 KiB. */
const fileLineBytes = 60_000;

/** Names by which a program, its loader or the engine's client is steered. */
const steering =
  /^(LD_|DYLD_|GCONV_PATH|GLIBC_|LOCPATH|NLSPATH|MALLOC_|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|GO[A-Z]|DOCKER_|BUILDKIT_|BUILDX_|COMPOSE_|OTEL_|XDG_|SSL_CERT|BASH|SHELLOPTS|ENV$|IFS$|PS4$|PATH$|HOME$|TMPDIR$|PWD$|OLDPWD$|PPID$|UID$|EUID$|OPT(ARG|IND)$|LC_|LANG|slipway_)|_proxy$/i;

/** Throws `DeployFailure("environment_not_supported")`. */
export function passEnvironment(environment: Environment): PassedEnvironment {
  const lines: string[] = [];
  const exported: [string, string][] = [];
  for (const [name, value] of Object.entries(environment)) {
    if (value.includes("\0") || !value.isWellFormed()) throw unsupported(name, "a NUL or broken character");
    const line = `${name}=${value}`;
    if (/[\r\n]/.test(value) || Buffer.byteLength(line) > fileLineBytes) exported.push([name, value]);
    else lines.push(line);
  }
  for (const [name] of exported) {
    if (steering.test(name))
      throw unsupported(name, "a line break or more than 60,000 bytes under this name");
  }
  const file = lines.map((line) => `${line}\n`).join("");
  const exports = exported.map(([name, value]) => `export ${name}=${quote(value)}\n`).join("");
  return {
    stdin: `slipway_env_file=${quote(file)}\n${exports}`,
    argv: exported.flatMap(([name]) => ["--env", name]),
  };
}

/** The environment as a file that a shell reads: for the build step, where nothing but the project's own code runs. */
export function environmentFile(environment: Environment): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${quote(value)}\n`)
    .join("");
}

function unsupported(name: string, what: string): DeployFailure {
  return new DeployFailure(
    "environment_not_supported",
    `The environment variable ${name} has ${what}, which cannot be passed to a container.`,
    "Change or remove it, then deploy again.",
  );
}
