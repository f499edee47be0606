/**
 * Brings the environment into a container and a build without showing it in any argument list, with every value byte
 * for byte: to the engine as a part of its JSON, to the build as a file for a shell. Rejected: the client's
 * `--env NAME=value` (the process table shows it to all users of the server) and its `--env-file` (no line breaks).
 */
import { quote } from "../../../shared/shell/quote.ts";
import { DeployFailure } from "../failure.ts";
import type { Environment } from "../snapshot.ts";

/** `NAME=value` for each. Throws `DeployFailure("environment_not_supported")`. */
export function environmentList(environment: Environment): string[] {
  return Object.entries(environment).map(([name, value]) => {
    if (value.includes("\0") || !value.isWellFormed()) throw unsupported(name);
    return `${name}=${value}`;
  });
}

/** The environment as a file that a shell reads: for the build step, where nothing but the project's own code runs. */
export function environmentFile(environment: Environment): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${quote(value)}\n`)
    .join("");
}

function unsupported(name: string): DeployFailure {
  return new DeployFailure(
    "environment_not_supported",
    `The environment variable ${name} has a NUL or a broken character, which cannot be passed to a container.`,
    "Change or remove it, then deploy again.",
  );
}
