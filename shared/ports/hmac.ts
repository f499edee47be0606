/**
 * Checks signatures by HMAC-SHA256, in constant time. Adapters: WebCrypto, which every host has (shared/crypto/hmac.ts),
 * and node:crypto, which needs no thread for what takes microseconds.
 */
type Bytes = Uint8Array<ArrayBuffer>;

/** A secret made ready, for those who check with it again and again. */
export type PrepareHmac = (secret: string) => Promise<CheckHmac>;

/** Whether `signature` was made over `content`. Never holds for an empty secret: everybody could sign with it. */
export type CheckHmac = (content: Bytes, signature: Bytes) => boolean | Promise<boolean>;
