/** Signs claims as a compact JWS (RFC 7515) with the edge's key; a host may have a quicker way to do it than WebCrypto. */
export type CompactSigner = (claims: Readonly<Record<string, unknown>>) => string | Promise<string>;
