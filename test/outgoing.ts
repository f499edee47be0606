/** The product's own requests, as a composition root makes them; tests reach receivers on this machine. */
import { createOutgoing } from "../shared/adapters/outgoing-http.ts";
import { createOutgoingStreams } from "../shared/adapters/outgoing-stream.ts";
import { createTargetGuard, type TargetGuardOptions } from "../shared/adapters/target-guard.ts";
import type { Outgoing, OutgoingStreams } from "../shared/ports/outgoing.ts";

/** Default: what a self-hosted platform asks a git host with. */
export function testOutgoing(options: Partial<TargetGuardOptions> = {}): Outgoing {
  return createOutgoing(createTargetGuard({ guarded: false, resolvers: [], exceptions: [], ...options }));
}

export function testStreams(): OutgoingStreams {
  return createOutgoingStreams(createTargetGuard({ guarded: false, resolvers: [], exceptions: [] }));
}

/** As notifications are sent: guarded, with this machine as the exception that an operator has listed. */
export function loopbackOutgoing(): Outgoing {
  return testOutgoing({ guarded: true, exceptions: ["127.0.0.0/8"] });
}
