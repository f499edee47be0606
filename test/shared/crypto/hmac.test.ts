/** Signatures of deliveries, on both adapters, compared with those of Node's own crypto. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createNodeHmac } from "../../../shared/adapters/node-hmac.ts";
import { parseSignature, webHmac } from "../../../shared/crypto/hmac.ts";
import { limits } from "../../../shared/domain/limits.ts";

const small = new TextEncoder().encode('{"a":1}');
const large = new Uint8Array(limits.hmacAtOnceBytes + 1).fill(7);
const header = (secret: string, body: Uint8Array) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

describe.each([
  ["WebCrypto", webHmac],
  ["node:crypto", createNodeHmac(webHmac)],
])("%s", (_name, prepare) => {
  test.each([
    ["a small body", small],
    ["a large body", large],
  ])("a signature by the same secret over the same bytes of %s holds, and no other", async (_size, body) => {
    const signature = parseSignature(header("s3cret", body)) ?? new Uint8Array();
    const check = await prepare("s3cret");
    expect(await check(body, signature)).toBe(true);
    expect(await check(body.slice(1), signature)).toBe(false);
    expect(await check(body, signature.slice(1))).toBe(false);
    expect(await check(body, new Uint8Array())).toBe(false);
    const other = await prepare("other");
    expect(await other(body, signature)).toBe(false);
  });

  test("nothing is signed by an empty secret", async () => {
    const check = await prepare("");
    const signature = parseSignature(header("", small)) ?? new Uint8Array();
    expect(await check(small, signature)).toBe(false);
  });
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
