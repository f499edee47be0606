/**
 * The network of one run: its servers find each other and the git server there by name. It is not `--internal`, since
 * servers install packages; ports reach this machine on 127.0.0.1 only. Its range lies outside of those that engines
 * take by themselves: the engine inside a server has 172.18.0.0/16, and the first network of a fresh engine on this
 * machine would get the same one, so that no answer finds its way back.
 */
import { randomInt } from "node:crypto";
import { docker } from "./docker.ts";

/** Other runs have ranges of their own; one that is taken is answered with an error, and another is tried. */
const attempts = 20;

export async function createNetwork(name: string, labels: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const subnet = `10.213.${randomInt(256)}.0/24`;
    try {
      await docker(["network", "create", "--subnet", subnet, ...labels, name]);
      return;
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}
