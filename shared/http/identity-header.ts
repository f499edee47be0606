/**
 * The function's side of the token between edge and functions: what `createModuleApp` asks when a request came over
 * HTTP. The signature is checked before the body is read, so an unsigned request costs next to nothing.
 */
import { takesStream } from "../contract/streamed-routes.ts";
import type { IdentityVerifier } from "../crypto/identity-token.ts";
import { limits } from "../domain/limits.ts";
import type { Identity } from "../domain/principal.ts";
import { Refusal } from "../domain/refusal.ts";

export const identityHeader = "x-slipway-identity";

/** For `ModuleAppOptions.verifyIdentity`. */
export function verifyIdentityHeader(verifier: IdentityVerifier): (request: Request) => Promise<Identity> {
  return async (request) => {
    const token = request.headers.get(identityHeader);
    if (token === null) {
      throw new Refusal("unauthenticated", "unauthenticated", "This request does not come from the edge.");
    }
    const { pathname, search } = new URL(request.url);
    const { method } = request;
    return verifier.verify(token, {
      method,
      path: pathname + search,
      body: takesStream(method, pathname) ? "stream" : () => readBounded(request.clone() as Request),
    });
  };
}

/** For an app that is only ever called in its own process: whatever comes over the network is refused. */
export async function refuseUnsigned(): Promise<never> {
  throw new Refusal("unauthenticated", "unauthenticated", "This request does not come from the edge.");
}

/** The edge sends no more than its cap; whoever else does is cut off there. */
async function readBounded(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limits.jsonBodyBytes) {
      throw new Refusal("too_large", "too_large", "The body is too large.");
    }
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
