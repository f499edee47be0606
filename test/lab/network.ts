/**
 * The network of one run: its servers find each other and the git server there by name. It is not `--internal`, since
 * servers install packages; ports reach this machine on 127.0.0.1 only.
 */
import { docker } from "./docker.ts";

export async function createNetwork(name: string, labels: readonly string[]): Promise<void> {
  await docker(["network", "create", ...labels, name]);
}
