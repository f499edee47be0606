/**
 * A free TCP port of 127.0.0.1 for docker to publish. Below the range that the system hands out for outgoing
 * connections, so that a stopped lab server finds its port free when it comes back. Rejected: letting docker choose;
 * it chooses anew at every start, and a reboot would move the server.
 */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const lowest = 20_000;
const highest = 32_000;
const attempts = 50;

export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port between ${lowest} and ${highest} was found in ${attempts} attempts.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
