/** Which secrets a part cannot start without, and that deployment and documentation know the very same ones. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  classesOf,
  identityKeyName,
  identityPublicName,
  type Part,
  readIdentityKey,
  readIdentityPublicKeys,
  readRings,
  sealName,
} from "../../shared/domain/module-secrets.ts";
import { makeIdentityKey, makeSealKey } from "../keys.ts";

const parts = Object.keys(classesOf) as Part[];
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

function secretsOf(part: Part): Record<string, string> {
  const { d: _private, ...publicKey } = makeIdentityKey();
  const rings = classesOf[part].map((each) => [
    sealName(each),
    JSON.stringify([{ kid: "k", key: makeSealKey() }]),
  ]);
  const identity =
    part === "edge"
      ? [identityKeyName, JSON.stringify(makeIdentityKey())]
      : [identityPublicName, JSON.stringify([publicKey])];
  return Object.fromEntries([...rings, identity]);
}

function start(part: Part, given: Record<string, string>): void {
  const value = (name: string) => given[name];
  readRings(part, value);
  if (part === "edge") readIdentityKey(value);
  else readIdentityPublicKeys(value);
}

test.each(parts.flatMap((part) => Object.keys(secretsOf(part)).map((name) => [part, name] as const)))(
  "%s does not start without %s, nor with one that is no key",
  (part, name) => {
    const whole = secretsOf(part);
    expect(() => start(part, whole)).not.toThrow();
    for (const wrong of ["", " ", "[]", "{}", "hunter22", '[{"kid":"k","key":"hunter22"}]']) {
      const attempt = () => start(part, { ...whole, [name]: wrong });
      expect(attempt).toThrow(name);
      expect(attempt).not.toThrow("hunter22");
    }
  },
);

test("the cloud gives each part the classes that it needs, and no other", () => {
  const [, table = ""] = /const classesOf = \{(.*?)\} as const;/s.exec(read("sst.config.ts")) ?? [];
  const given = [...table.matchAll(/^ {2}(\w+): (\[.*\]),$/gm)].map(([, part, list]) => [
    part,
    JSON.parse(list ?? "[]"),
  ]);
  expect(Object.fromEntries(given)).toEqual(classesOf);
});

test("every secret of the cloud stands in docs/operating.md", () => {
  const config = read("sst.config.ts");
  const named = [...config.matchAll(/new sst\.Secret\("(\w+)"/g)].map(([, name]) => name);
  const sealed = [...config.matchAll(/: seal\("(\w+)"\)/g)].map(([, name]) => `Seal${name}`);
  expect(sealed.length).toBeGreaterThan(5);
  const documented = read("docs/operating.md");
  expect([...named, ...sealed].filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});
