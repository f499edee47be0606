/** Reaches functions of the same process: the identity goes along as an object, which nobody can send over a network. */
import type { Identity } from "../../shared/domain/principal.ts";
import type { Forwarder, ModuleName } from "../../shared/ports/forwarder.ts";

export interface InProcessApp {
  fetch(request: Request, env: { identity?: Identity }): Response | Promise<Response>;
}

export function forwardInProcess(apps: Record<ModuleName, InProcessApp>): Forwarder {
  return {
    async forward(module, request, identity) {
      return apps[module].fetch(request, { identity });
    },
  };
}
