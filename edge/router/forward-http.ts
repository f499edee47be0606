/**
 * Reaches functions over HTTP, with the identity as a signed token for exactly this request. The body is read first,
 * since its hash is signed; the edge has cut it to its cap already. Only the routes of large bodies pass them unread,
 * and their token says so. Answers stream through.
 */
import { takesStream } from "../../shared/contract/streamed-routes.ts";
import type { Bytes } from "../../shared/crypto/bytes.ts";
import type { IdentitySigner } from "../../shared/crypto/identity-token.ts";
import { identityHeader } from "../../shared/http/identity-header.ts";
import type { Forwarder, ModuleName } from "../../shared/ports/forwarder.ts";

export interface SentRequest {
  method: string;
  headers: Headers;
  body: Bytes | null;
  signal: AbortSignal;
}

export interface HttpForwarderOptions {
  /** Origin of each function: `http://deploy:3000`. */
  origins: Record<ModuleName, string>;
  signer: IdentitySigner;
  /** For requests whose body is in memory; this host may have a quicker way than its fetch. */
  send?: (url: URL, sent: SentRequest) => Promise<Response>;
  /** What a request with a streamed body needs besides on this host. Default: what Node's fetch needs. */
  streamed?: Readonly<Record<string, unknown>>;
}

/** Else Node's fetch keeps all of a streamed body, to send it again after a redirect. */
const notKeptOnNode = { redirect: "error", window: null };

export function forwardHttp(options: HttpForwarderOptions): Forwarder {
  const send = options.send ?? ((url, sent) => fetch(url, { ...sent, redirect: "manual" }));
  return {
    async forward(module, request, identity) {
      const { pathname, search } = new URL(request.url);
      const path = pathname + search;
      const { method, signal } = request;
      const passes = takesStream(method, pathname) ? request.body : null;
      const read = passes === null ? new Uint8Array(await request.arrayBuffer()) : null;
      const headers = new Headers(request.headers);
      headers.delete(identityHeader);
      const signed = takesStream(method, pathname) ? "stream" : async () => read ?? new Uint8Array();
      headers.set(
        identityHeader,
        await options.signer.sign(module, { method, path, body: signed }, identity),
      );
      const url = new URL(path, options.origins[module]);
      if (passes === null) {
        return send(url, { method, headers, signal, body: read === null || read.length === 0 ? null : read });
      }
      const streamed = { redirect: "manual", ...(options.streamed ?? notKeptOnNode), duplex: "half" };
      return fetch(url, { method, headers, signal, body: passes, ...streamed } as RequestInit);
    },
  };
}
