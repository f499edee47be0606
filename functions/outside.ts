/**
 * How a process of ours reaches what lies outside: requests and SSH connections to addresses that people gave. Channels
 * of notifications are always guarded. What self-hosters reach in their own network is theirs to say; in the cloud it is
 * the operator's network, so there all of it is guarded.
 */
import { createOutgoing } from "../shared/adapters/outgoing-http.ts";
import { createOutgoingStreams } from "../shared/adapters/outgoing-stream.ts";
import { createSsh2Shell } from "../shared/adapters/ssh2-shell.ts";
import { createTargetGuard, openGuardedSocket } from "../shared/adapters/target-guard.ts";
import type { Outgoing, OutgoingStreams } from "../shared/ports/outgoing.ts";
import type { Shell } from "../shared/ports/shell.ts";
import type { Configuration } from "./configuration.ts";

export interface Outside {
  shell: Shell;
  /** To where an organization's own things are: its git host. */
  operated: Outgoing;
  /** The same, for answers that are passed on as they come. */
  operatedStreams: OutgoingStreams;
  /** To anywhere a user says. */
  guarded: Outgoing;
  /** Checked addresses of a host that a user gave, none of them private. Throws `OutgoingFailure`. */
  publicAddresses: (host: string) => Promise<string[]>;
}

export function openOutside({ mode, resolvers, allowPrivateTargets: exceptions }: Configuration): Outside {
  const guard = (guarded: boolean) => createTargetGuard({ guarded, resolvers, exceptions });
  const isCloud = mode === "cloud";
  const operated = guard(isCloud);
  return {
    shell: createSsh2Shell(isCloud ? { openSocket: openGuardedSocket(operated) } : {}),
    operated: createOutgoing(operated),
    operatedStreams: createOutgoingStreams(operated),
    guarded: createOutgoing(guard(true)),
    publicAddresses: (host) => guard(true).resolve(host),
  };
}
