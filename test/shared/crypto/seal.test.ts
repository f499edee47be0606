/** Secrets at rest open at their place and nowhere else (architecture.md section 6). */
import { describe, expect, test } from "vitest";
import { createSealer, fingerprint, SealBroken } from "../../../shared/crypto/seal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { SealedPlace } from "../../../shared/domain/sealed-place.ts";
import { makeSealKey } from "../../keys.ts";

const place: SealedPlace = {
  organizationId: "org_1",
  table: "servers",
  column: "sealed_credential",
  row: "srv_1",
};
const first = { kid: "k1", key: makeSealKey() };
const second = { kid: "k2", key: makeSealKey() };

describe("a sealed secret", () => {
  test("opens at its place and shows nothing of its content", async () => {
    const sealer = createSealer({ server: [first] });
    const sealed = await sealer.seal("server", place, "pass word ü\u{1f511}");
    expect(sealed).toMatch(/^sealed:v1:server:k1:[A-Za-z0-9_-]+$/);
    expect(sealed).not.toContain("pass");
    expect(await sealer.open("server", place, sealed)).toBe("pass word ü\u{1f511}");
  });

  test("is another ciphertext each time", async () => {
    const sealer = createSealer({ server: [first] });
    expect(await sealer.seal("server", place, "x")).not.toBe(await sealer.seal("server", place, "x"));
  });

  test.each(["organizationId", "table", "column", "row"] as const)(
    "does not open at another %s",
    async (part) => {
      const sealer = createSealer({ server: [first] });
      const sealed = await sealer.seal("server", place, "secret");
      await expect(sealer.open("server", { ...place, [part]: "other" }, sealed)).rejects.toThrow(SealBroken);
    },
  );

  test("does not open when any character was changed", async () => {
    const sealer = createSealer({ server: [first, second] });
    const sealed = await sealer.seal("server", place, "secret");
    for (let index = 0; index < sealed.length; index++) {
      const other = sealed[index] === "A" ? "B" : "A";
      const changed = sealed.slice(0, index) + other + sealed.slice(index + 1);
      // The last base64 digit carries bits that mean nothing; a change there alone may leave the bytes as they were.
      if (index === sealed.length - 1) continue;
      await expect(sealer.open("server", place, changed), `at ${index}`).rejects.toThrow();
    }
  });

  test("does not open as another class, even under the same key", async () => {
    const sealer = createSealer({ server: [first], webhook: [first] });
    const sealed = await sealer.seal("server", place, "secret");
    await expect(sealer.open("webhook", place, sealed)).rejects.toThrow(SealBroken);
    const renamed = sealed.replace(":server:", ":webhook:");
    await expect(sealer.open("webhook", place, renamed)).rejects.toThrow(SealBroken);
  });

  test("still opens after rotation, and new ones use the new key", async () => {
    const old = await createSealer({ server: [first] }).seal("server", place, "secret");
    const rotated = createSealer({ server: [second, first] });
    expect(await rotated.open("server", place, old)).toBe("secret");
    expect(await rotated.seal("server", place, "secret")).toMatch(/^sealed:v1:server:k2:/);
    await expect(createSealer({ server: [second] }).open("server", place, old)).rejects.toThrow(SealBroken);
  });

  test("is refused as input, in every spelling", async () => {
    const sealer = createSealer({ server: [first] });
    for (const value of ["sealed:v1:server:k1:AAAA", " sealed:v1:", "SEALED:V2:x"]) {
      await expect(sealer.seal("server", place, value)).rejects.toThrow(Refusal);
    }
  });

  test("cannot be made or opened without a key of its class", async () => {
    const sealed = await createSealer({ server: [first] }).seal("server", place, "secret");
    const edge = createSealer({ webhook: [second] });
    await expect(edge.open("server", place, sealed)).rejects.toThrow(SealBroken);
    await expect(edge.seal("server", place, "secret")).rejects.toThrow(/class server/);
  });
});

test("a key of another length is refused at the start", () => {
  expect(() => createSealer({ server: [{ kid: "k", key: btoa("short") }] })).toThrow(/32 bytes/);
});

test("a fingerprint changes with value, key and context and is stable otherwise", async () => {
  const same = await fingerprint("value", first.key, "prj_1:KEY");
  expect(same).toMatch(/^[0-9a-f]{32}$/);
  expect(await fingerprint("value", first.key, "prj_1:KEY")).toBe(same);
  expect(await fingerprint("value2", first.key, "prj_1:KEY")).not.toBe(same);
  expect(await fingerprint("value", second.key, "prj_1:KEY")).not.toBe(same);
  expect(await fingerprint("value", first.key, "prj_2:KEY")).not.toBe(same);
});
