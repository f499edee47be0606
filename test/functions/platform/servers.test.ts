import { generateKeyPairSync } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generateSshKey } from "../../../shared/adapters/ssh-key.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { serverTarget } from "../../../shared/db/server-target.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import {
  addProject,
  addServer,
  hostKey,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
});

const base = () => ({ name: "web", host: "203.0.113.9", hostKey: hostKey() });

async function credentialOf(id: string) {
  const [row] = await platform.db.select().from(servers).where(eq(servers.id, id));
  if (row === undefined) throw new Error("no such server");
  return serverTarget(row, platform.sealer).credential();
}

describe("adding a server", () => {
  it("takes a generated key, answers the public half and seals the private one", async () => {
    const { status, body } = await acme.call("POST", "/api/servers", {
      ...base(),
      auth: { kind: "generated" },
    });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ port: 22, user: "root", publicPorts: { http: 80, https: 443 } });
    expect(body.data.auth).toEqual({
      kind: "generated",
      publicKey: expect.stringMatching(/^ssh-ed25519 AAAA/),
    });
    expect(body.data.hostKey.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(JSON.stringify(body)).not.toMatch(/PRIVATE|sealed/);
    const credential = await credentialOf(body.data.id);
    expect(credential.kind === "key" && credential.privateKey).toContain("OPENSSH PRIVATE KEY");
  });

  it("takes a pasted key with and without passphrase, in OpenSSH and PEM form", async () => {
    const passphrase = "correct horse";
    const { privateKey: pem } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const plain = String(pem.export({ type: "pkcs1", format: "pem" }));
    const locked = String(pem.export({ type: "pkcs1", format: "pem", cipher: "aes-256-cbc", passphrase }));
    for (const auth of [
      { kind: "key", privateKey: generateSshKey("t").privateKey },
      { kind: "key", privateKey: plain },
      { kind: "key", privateKey: plain, passphrase: "" },
      { kind: "key", privateKey: locked, passphrase },
    ]) {
      expect((await acme.call("POST", "/api/servers", { ...base(), auth })).status).toBe(201);
    }
  });

  it("refuses a key that cannot be used, naming the field", async () => {
    const { privateKey: pem, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const locked = String(
      pem.export({ type: "pkcs1", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
    );
    const cases: [Record<string, unknown>, string][] = [
      [{ privateKey: "hello" }, "key_unreadable"],
      [{ privateKey: generateSshKey("t").publicKey }, "key_public"],
      [{ privateKey: String(publicKey.export({ type: "spki", format: "pem" })) }, "key_unreadable"],
      [{ privateKey: locked }, "key_passphrase_missing"],
      [{ privateKey: locked, passphrase: "wrong" }, "key_passphrase_wrong"],
    ];
    for (const [auth, code] of cases) {
      const { status, body } = await acme.call("POST", "/api/servers", {
        ...base(),
        auth: { kind: "key", ...auth },
      });
      expect([status, body.code, body.details[0].path]).toEqual([400, code, "body.auth.privateKey"]);
    }
  });

  it("refuses a key that would take minutes to open", async () => {
    const magic = Buffer.from("openssh-key-v1\0");
    const field = (bytes: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    };
    const options = Buffer.concat([field(Buffer.alloc(16)), Buffer.from([0x7f, 0xff, 0xff, 0xff])]);
    const bytes = Buffer.concat([
      magic,
      field(Buffer.from("aes256-ctr")),
      field(Buffer.from("bcrypt")),
      field(options),
    ]);
    const privateKey = `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`;
    const auth = { kind: "key", privateKey, passphrase: "x" };
    const { status, body } = await acme.call("POST", "/api/servers", { ...base(), auth });
    expect([status, body.code]).toEqual([400, "key_too_slow"]);
  });

  it("names every wrong field", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ host: "-oProxyCommand=id" }, "body.host"],
      [{ host: "a b" }, "body.host"],
      [{ host: "$(reboot)" }, "body.host"],
      [{ user: "root; id" }, "body.user"],
      [{ user: "-l" }, "body.user"],
      [{ port: 0 }, "body.port"],
      [{ name: "a\nb" }, "body.name"],
      [{ hostKey: "ssh-ed25519 AAAA\nssh-rsa AAAA" }, "body.hostKey"],
      [{ hostKey: "ssh-ed25519 AAAA" }, "body.hostKey"],
      [{ hostKey: hostKey("ssh-rsa").replace("ssh-rsa", "ssh-ed25519") }, "body.hostKey"],
      [{ extra: 1 }, "body.extra"],
      [{ auth: { kind: "password", password: "sealed:v1:server:k:abc" } }, "body.auth.password"],
    ];
    for (const [change, path] of cases) {
      const auth = { kind: "generated" };
      const { status, body } = await acme.call("POST", "/api/servers", { ...base(), auth, ...change });
      expect([status, body.details?.[0].path], JSON.stringify(change)).toEqual([400, path]);
    }
  });

  it("is not for a token that is narrowed to some servers, nor for a viewer", async () => {
    const narrowed = await acme.with({ serverIds: [await addServer(acme.call)] });
    const wanted = { ...base(), auth: { kind: "generated" } };
    expect((await narrowed("POST", "/api/servers", wanted)).status).toBe(403);
    const viewer = await acme.with({ role: "viewer" });
    expect((await viewer("POST", "/api/servers", wanted)).status).toBe(403);
  });
});

describe("reading servers", () => {
  it("pages newest first and shows only what the caller may see", async () => {
    const ids = [await addServer(acme.call), await addServer(acme.call), await addServer(acme.call)];
    const first = await acme.call("GET", "/api/servers?limit=2");
    expect(first.body.data.map((server: { id: string }) => server.id)).toEqual([ids[2], ids[1]]);
    const second = await acme.call("GET", `/api/servers?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ data: [{ id: ids[0] }], nextCursor: null });
    const narrowed = await acme.with({ serverIds: [ids[1] ?? ""] });
    expect((await narrowed("GET", "/api/servers")).body.data).toHaveLength(1);
    expect((await narrowed("GET", `/api/servers/${ids[0]}`)).status).toBe(404);
  });

  it("answers foreign, absent and deleted ones with the same 404, on every route", async () => {
    const mine = await addServer(acme.call);
    const foreign = await addServer((await platform.organization()).call);
    expect((await acme.call("DELETE", `/api/servers/${mine}`)).body).toEqual({ success: true });
    const routes: [string, string, unknown][] = [
      ["GET", "", undefined],
      ["PATCH", "", { name: "x" }],
      ["DELETE", "", undefined],
      ["POST", "/check", undefined],
      ["POST", "/bootstrap", undefined],
    ];
    const bodies = new Set<string>();
    for (const id of [mine, foreign, "srv_nothing", "' or 1=1 --"]) {
      for (const [method, path, body] of routes) {
        const answer = await acme.call(method, `/api/servers/${encodeURIComponent(id)}${path}`, body);
        expect(answer.status, `${method} ${path}`).toBe(404);
        bodies.add(JSON.stringify(answer.body));
      }
    }
    expect(bodies.size).toBe(1);
  });
});

describe("changing a server", () => {
  it("changes name and ports without the credential", async () => {
    const id = await addServer(acme.call);
    const change = { name: "new", publicPorts: { http: 8080, https: 8443 } };
    const { status, body } = await acme.call("PATCH", `/api/servers/${id}`, change);
    expect([status, body.data.name, body.data.publicPorts]).toEqual([200, "new", change.publicPorts]);
    expect(platform.shell.forgotten).not.toContain(id);
  });

  it("asks for the credential again and for server:admin when it would go to a new place", async () => {
    const id = await addServer(acme.call);
    const auth = { kind: "password", password: "again" };
    const member = await acme.with({ role: "member" });
    for (const change of [
      { host: "198.51.100.1" },
      { port: 2222 },
      { user: "deploy" },
      { hostKey: hostKey() },
    ]) {
      const without = await acme.call("PATCH", `/api/servers/${id}`, change);
      expect([without.status, without.body.details[0].path]).toEqual([400, "body.auth"]);
      expect((await member("PATCH", `/api/servers/${id}`, { ...change, auth })).status).toBe(403);
      expect((await acme.call("PATCH", `/api/servers/${id}`, { ...change, auth })).status).toBe(200);
    }
    expect(platform.shell.forgotten.filter((forgotten) => forgotten === id)).toHaveLength(4);
    expect(await credentialOf(id)).toEqual(auth);
  });

  it("takes the present address without the credential", async () => {
    const id = await addServer(acme.call);
    expect((await acme.call("PATCH", `/api/servers/${id}`, { host: "203.0.113.5", port: 22 })).status).toBe(
      200,
    );
  });
});

describe("deleting a server", () => {
  it("is refused while projects are on it, and wipes the credential", async () => {
    const id = await addServer(acme.call);
    const project = await addProject(acme.call, id);
    const refused = await acme.call("DELETE", `/api/servers/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "server_has_projects"]);
    await acme.call("DELETE", `/api/projects/${project}`);
    expect((await acme.call("DELETE", `/api/servers/${id}`)).status).toBe(200);
    const [row] = await platform.db.select().from(servers).where(eq(servers.id, id));
    expect(row?.sealedCredential).toBe("");
  });
});

describe("reaching a server", () => {
  it("answers a failure of check as its result, with the reason", async () => {
    const id = await addServer(acme.call);
    platform.shell.answer(new ShellFailure("host_key_changed", "The server presents another host key."));
    const { status, body } = await acme.call("POST", `/api/servers/${id}/check`);
    expect(status).toBe(200);
    const expected = {
      ok: false,
      code: "host_key_changed",
      error: "The server presents another host key.",
      os: null,
    };
    expect(body.data).toMatchObject(expected);
  });

  it("survives whatever a hostile server says", async () => {
    const id = await addServer(acme.call);
    const lines = [
      "os=\u001b[31mevil\u0000",
      "memory_total_kb=99999999999999999999",
      "sudo=yes",
      "=",
      "x",
      "done=yes",
    ];
    platform.shell.answer({ stdout: lines.join("\n") }, { stdout: "soon" });
    const { status, body } = await acme.call("POST", `/api/servers/${id}/check`);
    const found = { ok: true, os: "[31mevil", memoryTotalMB: null, clockSkewMs: null, ready: false };
    expect([status, body.data]).toEqual([200, expect.objectContaining(found)]);
  });

  it("says that root is missing", async () => {
    const id = await addServer(acme.call);
    platform.shell.answer({ stdout: "sudo=no\nos=Debian\ndone=yes\n" }, { stdout: "1795224391781\n" });
    const { body } = await acme.call("POST", `/api/servers/${id}/check`);
    expect(body.data).toMatchObject({ ok: false, code: "sudo", sudo: false, os: "Debian", ready: false });
  });

  it("answers 502 when the address of a probe cannot be reached", async () => {
    platform.shell.answer(new ShellFailure("unreachable", "Nothing answers there."));
    const { status, body } = await acme.call("POST", "/api/servers/probe", { host: "203.0.113.77" });
    expect([status, body.code, body.error]).toEqual([502, "unreachable", "Nothing answers there."]);
  });

  it("probes without a credential", async () => {
    platform.shell.answer({ stdout: "AAAAkey" });
    const { body } = await acme.call("POST", "/api/servers/probe", { host: "203.0.113.77", port: 2222 });
    expect(body.data).toEqual({
      hostKey: "ssh-ed25519 AAAAkey",
      type: "ssh-ed25519",
      fingerprint: "SHA256:abc",
    });
  });
});
