/** Access tokens: form, checksum, hash (decisions.md section 2). */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { hashToken, isToken, makeToken } from "../../../shared/crypto/token.ts";

test("a token is slp_ and 40 base62 digits, and no two are alike", () => {
  const tokens = Array.from({ length: 200 }, () => makeToken());
  for (const token of tokens) expect(token).toMatch(/^slp_[0-9A-Za-z]{40}$/);
  expect(new Set(tokens).size).toBe(200);
  expect(tokens.every(isToken)).toBe(true);
});

test("a token with one changed digit is told by its checksum", () => {
  const token = makeToken();
  for (let index = 4; index < token.length; index++) {
    const changed = token.slice(0, index) + (token[index] === "x" ? "y" : "x") + token.slice(index + 1);
    expect(isToken(changed), `at ${index}`).toBe(false);
  }
});

test("another prefix, length or alphabet is no token", () => {
  const token = makeToken();
  for (const value of ["", token.slice(1), `${token}0`, token.replace("slp_", "ghp_"), `${token}\n`]) {
    expect(isToken(value)).toBe(false);
  }
});

test("what is stored is the SHA-256 of the token", async () => {
  const token = makeToken();
  expect(await hashToken(token)).toBe(createHash("sha256").update(token).digest("hex"));
});
