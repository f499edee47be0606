/** What of a server's row is shown. Columns are named: the sealed credential never leaves. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { ServerRow } from "../../shared/db/server-target.ts";
import { invalid } from "../../shared/domain/refusal.ts";

export function showServer(row: ServerRow) {
  const { id, name, host, port, user, publicKey } = row;
  return {
    id,
    name,
    host,
    port,
    user,
    auth: { kind: row.authKind, publicKey },
    hostKey: { key: row.hostKey, fingerprint: fingerprintOf(row.hostKey) },
    publicPorts: { http: row.httpPort, https: row.httpsPort },
    bootstrappedAt: row.bootstrappedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

/** `SHA256:…` as OpenSSH prints it. */
function fingerprintOf(hostKey: string): string {
  const bytes = Buffer.from(hostKey.split(" ")[1] ?? "", "base64");
  return `SHA256:${createHash("sha256").update(bytes).digest("base64").replace(/=+$/, "")}`;
}

/** The wire form repeats the type; a key that says something else than its label could never be matched. */
export function requireHostKey(hostKey: string): void {
  const [type = "", base64 = ""] = hostKey.split(" ");
  const bytes = Buffer.from(base64, "base64");
  const length = bytes.length < 4 ? 0 : bytes.readUInt32BE(0);
  const said = bytes.subarray(4, 4 + Math.min(length, 64)).toString("latin1");
  if (said !== type) throw invalid("body.hostKey", "is not a host key of the type that it names");
}
