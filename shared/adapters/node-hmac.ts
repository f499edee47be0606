/**
 * HMAC on the caller's own thread: for a delivery of 10 kB the way to a thread of the pool and back costs twice the
 * digest again. Large bodies still go there, by `forLarge`, so that strangers' bytes do not hold up everybody else.
 */
import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import { limits } from "../domain/limits.ts";
import type { PrepareHmac } from "../ports/hmac.ts";

export function createNodeHmac(forLarge: PrepareHmac): PrepareHmac {
  return async (secret) => {
    const checkLarge = await forLarge(secret);
    if (secret === "") return () => false;
    const key = createSecretKey(secret, "utf8");
    return (content, signature) => {
      if (content.length > limits.hmacAtOnceBytes) return checkLarge(content, signature);
      const made = createHmac("sha256", key).update(content).digest();
      return made.length === signature.length && timingSafeEqual(made, signature);
    };
  };
}
