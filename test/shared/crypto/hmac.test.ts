/** Signatures of deliveries, compared with those of Node's own crypto. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { parseSignature, verifyHmac } from "../../../shared/crypto/hmac.ts";

const body = new TextEncoder().encode('{"a":1}');
const header = (secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

test("a signature by the same secret over the same bytes holds", async () => {
  const signature = parseSignature(header("s3cret"));
  expect(signature).not.toBeNull();
  expect(await verifyHmac("s3cret", body, signature ?? new Uint8Array())).toBe(true);
  expect(await verifyHmac("other", body, signature ?? new Uint8Array())).toBe(false);
  expect(await verifyHmac("s3cret", body.slice(1), signature ?? new Uint8Array())).toBe(false);
});

test("nothing is signed by an empty secret", async () => {
  expect(await verifyHmac("", body, new Uint8Array(32))).toBe(false);
});

test("every other form of the header is no signature", () => {
  const digits = "a".repeat(64);
  for (const value of [
    null,
    undefined,
    "",
    digits,
    `sha1=${digits}`,
    `sha256=${digits}0`,
    `sha256=${"g".repeat(64)}`,
    `sha256= ${digits}`,
  ]) {
    expect(parseSignature(value)).toBeNull();
  }
});
