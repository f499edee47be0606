/** From a server's row to what the shell needs. The credential stays sealed until a connection is really made. */
import { credentialPlace, type SealedPlace } from "../domain/sealed-place.ts";
import type { ShellCredential, ShellTarget } from "../ports/shell.ts";
import type { servers } from "./server-tables.ts";

export type ServerRow = typeof servers.$inferSelect;

/** The half of the sealer (shared/crypto/seal.ts) that reads. */
export interface SecretOpener {
  open(secretClass: "server", place: SealedPlace, sealed: string): Promise<string>;
}

export function serverTarget(server: ServerRow, sealer: SecretOpener): ShellTarget {
  const { id: serverId, host, port, user, hostKey } = server;
  return {
    serverId,
    host,
    port,
    user,
    hostKey,
    revision: String(server.revision),
    credential: async () =>
      JSON.parse(
        await sealer.open("server", credentialPlace(server), server.sealedCredential),
      ) as ShellCredential,
  };
}
