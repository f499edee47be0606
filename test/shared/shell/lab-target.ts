/** A lab server as a target of the shell. */
import type { ShellTarget } from "../../../shared/ports/shell.ts";
import type { ServerDescription } from "../../lab/server.ts";

export function labTarget(server: ServerDescription, changes: Partial<ShellTarget> = {}): ShellTarget {
  return {
    serverId: `${server.name}-${changes.user ?? server.user}`,
    host: server.host,
    port: server.port,
    user: server.user,
    hostKey: server.hostKey,
    revision: "1",
    credential: async () => ({ kind: "key", privateKey: server.privateKey }),
    ...changes,
  };
}
