/**
 * How the edge reaches a function: in the same process (the identity goes over as an object) or by HTTP (as a signed
 * token). The contract suite runs both ways.
 */
import type { Identity } from "../domain/principal.ts";

export type ModuleName = "platform" | "deploy" | "notify";

export interface Forwarder {
  /** `request` has no Authorization and no cookies any more. `identity` is `nobody` on public routes. */
  forward(module: ModuleName, request: Request, identity: Identity): Promise<Response>;
}
