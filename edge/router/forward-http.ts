/**
 * Reaches functions over HTTP, with the identity as a signed token for exactly this request. The body is read first,
 * since its hash is signed; the edge has cut it to its cap already. Answers stream through.
 */
import type { IdentitySigner } from "../../shared/crypto/identity-token.ts";
import { identityHeader } from "../../shared/http/identity-header.ts";
import type { Forwarder, ModuleName } from "../../shared/ports/forwarder.ts";

export interface HttpForwarderOptions {
  /** Origin of each function: `http://deploy:3000`. */
  origins: Record<ModuleName, string>;
  signer: IdentitySigner;
  fetch?: typeof fetch;
}

export function forwardHttp(options: HttpForwarderOptions): Forwarder {
  const send = options.fetch ?? fetch;
  return {
    async forward(module, request, identity) {
      const { pathname, search } = new URL(request.url);
      const path = pathname + search;
      const body = new Uint8Array(await request.arrayBuffer());
      const headers = new Headers(request.headers);
      headers.delete(identityHeader);
      if (identity !== null) {
        const { method } = request;
        const token = await options.signer.sign(module, { method, path, body: async () => body }, identity);
        headers.set(identityHeader, token);
      }
      return send(new URL(path, options.origins[module]), {
        method: request.method,
        headers,
        body: body.length === 0 ? null : body,
        redirect: "manual",
        signal: request.signal,
      });
    },
  };
}
