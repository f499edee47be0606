/** What the edge signs holds for one function and one request, once. */
import { beforeAll, describe, expect, test } from "vitest";
import { openEd25519 } from "../../../shared/adapters/ed25519-node.ts";
import { sha256Hex } from "../../../shared/crypto/bytes.ts";
import {
  createIdentitySigner,
  createIdentityVerifier,
  type IdentitySigner,
} from "../../../shared/crypto/identity-token.ts";
import type { Identity } from "../../../shared/domain/principal.ts";
import type { CompactSigner } from "../../../shared/ports/compact-signer.ts";
import { makeIdentityKey } from "../../keys.ts";

const identity: Identity = {
  organizationId: "org_1",
  userId: "usr_1",
  credentialId: "tok_1",
  permissions: ["deployment:read"],
  projectIds: ["prj_1"],
  serverIds: null,
  sourceIp: "192.0.2.1",
  requestId: "req_1",
};
const request = {
  method: "POST",
  path: "/api/deployments?x=1",
  body: async () => new TextEncoder().encode("{}"),
};

const keys = makeIdentityKey();
const ways: [string, { sign?: CompactSigner }][] = [
  ["WebCrypto", {}],
  ["Node's own crypto", { sign: openEd25519(keys) }],
];

describe.each(ways)("the token between edge and functions, signed by %s", (_way, options) => {
  let signer: IdentitySigner;
  let nowMs = 1_750_000_000_000;
  const now = () => nowMs;
  const verifier = () => createIdentityVerifier({ audience: "deploy", keys: [keys] }, now);

  beforeAll(async () => {
    signer = await createIdentitySigner(keys, { now, ...options });
  });

  test("carries the identity to the function it is for", async () => {
    const token = await signer.sign("deploy", request, identity);
    expect(await (await verifier()).verify(token, request)).toEqual(identity);
  });

  test("is refused the second time", async () => {
    const token = await signer.sign("deploy", request, identity);
    const one = await verifier();
    await one.verify(token, request);
    await expect(one.verify(token, request)).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  test("is refused by another function", async () => {
    const token = await signer.sign("platform", request, identity);
    await expect((await verifier()).verify(token, request)).rejects.toMatchObject({
      kind: "unauthenticated",
    });
  });

  test.each([
    ["method", { ...request, method: "DELETE" }],
    ["path", { ...request, path: "/api/deployments/dep_1" }],
    ["query", { ...request, path: "/api/deployments?x=2" }],
    ["body", { ...request, body: async () => new TextEncoder().encode('{"a":1}') }],
  ])("is refused for another %s", async (_what, other) => {
    const token = await signer.sign("deploy", request, identity);
    await expect((await verifier()).verify(token, other)).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  test("for no body says its SHA-256, and holds for no other", async () => {
    const bare = { ...request, method: "GET", body: async () => new Uint8Array() };
    const token = await signer.sign("deploy", bare, identity);
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims.bodyHash).toBe(await sha256Hex(""));
    expect(await (await verifier()).verify(token, bare)).toEqual(identity);
    const withBody = { ...bare, body: request.body };
    await expect((await verifier()).verify(token, withBody)).rejects.toMatchObject({
      kind: "unauthenticated",
    });
  });

  test("is refused after a minute", async () => {
    const token = await signer.sign("deploy", request, identity);
    const one = await verifier();
    nowMs += 66_000;
    await expect(one.verify(token, request)).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  test("is refused when signed by a key that is not known, also under a known kid", async () => {
    const foreign = makeIdentityKey();
    for (const kid of [foreign.kid, keys.kid]) {
      const forger = await createIdentitySigner({ ...foreign, kid }, { now });
      const token = await forger.sign("deploy", request, identity);
      await expect((await verifier()).verify(token, request)).rejects.toMatchObject({
        kind: "unauthenticated",
      });
    }
  });

  test("is refused unsigned", async () => {
    const token = await signer.sign("deploy", request, identity);
    const [, payload] = token.split(".");
    const none = `${btoa('{"alg":"none"}').replaceAll("=", "")}.${payload}.`;
    for (const each of [none, "", "x", "a.b.c"]) {
      await expect((await verifier()).verify(each, request)).rejects.toMatchObject({
        kind: "unauthenticated",
      });
    }
  });
});
