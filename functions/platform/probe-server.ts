/** The host key that an address presents, for a person to compare; no credential is offered. */
import type { Shell } from "../../shared/ports/shell.ts";
import { askingServer } from "./far-side.ts";

const probeMs = 10_000;

export async function probeServer(shell: Shell, address: { host: string; port: number }) {
  const found = await askingServer(() => shell.probeHostKey({ ...address, deadlineMs: probeMs }));
  return { hostKey: found.key, type: found.type, fingerprint: found.fingerprint };
}
