/**
 * Installing Debian packages on this machine, for an engine or for debootstrap. Only root on a machine with apt can;
 * everyone else is told so in words that complete "the lab is not available: …".
 */
import { existsSync } from "node:fs";
import { describeFailure, runCommand } from "./docker.ts";

/** Answers why it could not be done, or undefined when the packages are installed. */
export async function installPackages(
  packages: readonly string[],
  say: (line: string) => void,
): Promise<string | undefined> {
  const refusal = whyNoPackages();
  if (refusal !== undefined) return refusal;
  say(`installing ${packages.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const steps = [
    ["update", "-q"],
    ["install", "-q", "-y", "--no-install-recommends", ...packages],
  ];
  for (const step of steps) {
    const result = await runCommand("apt-get", step, { env, deadlineMs: 300_000 });
    if (result.code !== 0) return describeFailure("apt-get", step, result);
  }
  return undefined;
}

export function whyNoPackages(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can install Debian packages and make images";
  if (!existsSync("/usr/bin/apt-get")) return "this machine has no apt";
  return undefined;
}
