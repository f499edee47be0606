/** The fetch with git itself and hosts that try to get the credential elsewhere; fetching for real is in the lab. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cloneUrlOf, type GitAccess } from "../../../../functions/deploy/git-access.ts";
import { explainFetch } from "../../../../functions/deploy/pipeline/explain-fetch.ts";
import { fetchArguments, fetchScript } from "../../../../functions/deploy/pipeline/fetch.ts";
import { credentialInput } from "../../../../functions/deploy/pipeline/git-with-credential.ts";

const secret = "token-0123456789abcdef";
const basic = `Basic ${Buffer.from(`x-access-token:${secret}`).toString("base64")}`;

let folder: string;
let servers: Server[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "slipway-fetch-"));
  servers = [];
});
afterEach(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

async function serve(listener: RequestListener) {
  const asked: { url: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? "", authorization: request.headers.authorization });
    listener(request, response);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const demand: RequestListener = (_, response) =>
  response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();

/** As the unit starts it: the credential on a standard input that is a deleted file. */
async function fetchFrom(url: string, access: GitAccess | null, pin = "") {
  const directory = mkdtempSync(join(folder, "deployment-"));
  const file = join(folder, "input");
  writeFileSync(file, credentialInput(access) ?? "", { mode: 0o600 });
  const input = openSync(file, "r");
  rmSync(file);
  const repository = join(folder, "repository.git");
  const args = fetchArguments({ repository, directory, url, branch: null, commitSha: null, access, pin });
  const child = spawn("sh", ["-c", fetchScript, "fetch", ...args], { stdio: [input, "pipe", "pipe"] });
  closeSync(input);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const [code] = await once(child, "close");
  return { code: Number(code), output };
}

const access = (baseUrl: string): GitAccess => ({ kind: "token", baseUrl, secret, hostKey: null });

describe("a fetch with a token", () => {
  it("gives the token to the connection's origin when it asks", async () => {
    const host = await serve(demand);
    const { code, output } = await fetchFrom(`${host.url}/acme/shop.git`, access(host.url));
    expect(host.asked.map(({ authorization }) => authorization)).toContain(basic);
    expect(explainFetch(code, output.split("\n")).code).toBe("git_not_allowed");
    expect(output).not.toContain(secret);
  });

  it("follows no redirect, neither before nor after the host has the token", async () => {
    const thief = await serve(demand);
    const before = await serve((request, response) =>
      response.writeHead(302, { location: `${thief.url}${request.url}` }).end(),
    );
    const after = await serve((request, response) =>
      request.headers.authorization === undefined
        ? demand(request, response)
        : response.writeHead(302, { location: `${thief.url}${request.url}` }).end(),
    );
    for (const host of [before, after]) {
      const { code, output } = await fetchFrom(`${host.url}/acme/shop.git`, access(host.url));
      expect(explainFetch(code, output.split("\n")).code).toBe("git_redirected");
    }
    expect(after.asked.at(-1)?.authorization).toBe(basic);
    expect(thief.asked).toEqual([]);
  });

  it("gives the token to no other origin, were it ever asked for one", async () => {
    const thief = await serve(demand);
    const { code, output } = await fetchFrom(`${thief.url}/acme/shop.git`, access("https://git.test"));
    expect(thief.asked.length).toBeGreaterThan(0);
    expect(thief.asked.map(({ authorization }) => authorization)).not.toContain(basic);
    expect(explainFetch(code, output.split("\n")).code).toBe("git_not_allowed");
  });

  it("leaves it in no file", async () => {
    const host = await serve(demand);
    await fetchFrom(`${host.url}/acme/shop.git`, access(host.url));
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.length).toBeGreaterThan(1);
    for (const { parentPath, name } of files) {
      expect(readFileSync(join(parentPath, name), "utf8"), name).not.toContain(secret);
    }
  });

  it("is held to the address that was checked, whatever the name leads to by now", async () => {
    const host = await serve(demand);
    const { port } = new URL(host.url);
    // No resolver knows this name.
    const url = `http://checked.invalid:${port}/acme/shop.git`;
    const held = await fetchFrom(
      url,
      access(`http://checked.invalid:${port}`),
      `checked.invalid:${port}:127.0.0.1`,
    );
    expect(explainFetch(held.code, held.output.split("\n")).code).toBe("git_not_allowed");
    expect(host.asked.map(({ authorization }) => authorization)).toContain(basic);

    const elsewhere = await serve(demand);
    const name = `http://localhost:${new URL(elsewhere.url).port}`;
    const pin = `${new URL(name).host}:127.0.0.9`;
    const kept = await fetchFrom(`${name}/acme/shop.git`, null, pin);
    expect(explainFetch(kept.code, kept.output.split("\n")).code).toBe("git_unreachable");
    expect(elsewhere.asked).toEqual([]);
  });

  it("that is held to an address follows no redirect, without a credential either", async () => {
    const inside = await serve(demand);
    const host = await serve((request, response) =>
      response.writeHead(302, { location: `${inside.url}${request.url}` }).end(),
    );
    const { code, output } = await fetchFrom(
      `${host.url}/acme/shop.git`,
      null,
      `${new URL(host.url).host}:127.0.0.1`,
    );
    expect(explainFetch(code, output.split("\n")).code).toBe("git_redirected");
    expect(inside.asked).toEqual([]);
  });

  it("has the token in no argument", () => {
    const request = { repository: "r", directory: "d", url: "u", branch: null, commitSha: null, pin: "" };
    const args = fetchArguments({ ...request, access: access("https://git.test:8443/sub") });
    expect(args.slice(5)).toEqual(["token", "https://git.test:8443", ""]);
  });
});

describe("the address of a source with a connection", () => {
  const source = { kind: "git", provider: "git_host", owner: "a", repo: "b", connectionId: "gcn_1" } as const;

  it("lies below the connection's address", () => {
    expect(cloneUrlOf(source, access("https://git.test"))).toBe("https://git.test/a/b.git");
    expect(cloneUrlOf(source, access("https://git.test/sub"))).toBe("https://git.test/sub/a/b.git");
    const own = { ...source, cloneUrl: "https://GIT.test:443/x.git" };
    expect(cloneUrlOf(own, access("https://git.test"))).toBe("https://git.test/x.git");
    const key = { ...access("ssh://git@git.test:2222"), kind: "deploy_key" as const };
    expect(cloneUrlOf(source, key)).toBe("ssh://git@git.test:2222/a/b.git");
  });

  it.each([
    ["https://git.test", "https://git.test.evil.test/a/b.git"],
    ["https://git.test", "http://git.test/a/b.git"],
    ["https://git.test", "https://git.test:8443/a/b.git"],
    ["https://git.test/sub", "https://git.test/sub/../a/b.git"],
    ["https://git.test/sub", "https://git.test/%2e%2e/b.git"],
    ["https://git.test/sub", "https://git.test/subway/b.git"],
  ])("is not used with %s for %s", (baseUrl, cloneUrl) => {
    const refused = () => cloneUrlOf({ ...source, cloneUrl }, access(baseUrl));
    expect(refused).toThrow(expect.objectContaining({ code: "git_connection_mismatch" }));
  });

  it("says that the connection is gone", () => {
    expect(() => cloneUrlOf(source, null)).toThrow(expect.objectContaining({ code: "git_connection_gone" }));
  });
});
