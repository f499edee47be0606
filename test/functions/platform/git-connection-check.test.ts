import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generateSshKey } from "../../../shared/adapters/ssh-key.ts";
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

const secret = "ghp_0123456789abWXYZ";
const base = { name: "git", baseUrl: "https://git.test", kind: "token", secret };
const deployKey = () => ({
  name: "key",
  baseUrl: "ssh://git@git.test:2222",
  kind: "deploy_key",
  secret: generateSshKey("t").privateKey,
  hostKey: hostKey(),
});

async function add(change: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await acme.call("POST", "/api/git-connections", { ...base, ...change });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data.id;
}

const source = (connectionId: string, change: Record<string, unknown> = {}) => ({
  source: { kind: "git", owner: "acme", repo: "shop", connectionId, ...change },
});

describe("checking a git connection", () => {
  const check = async (id: string, query = "") => {
    const { status, body } = await acme.call("POST", `/api/git-connections/${id}/check${query}`);
    expect(status).toBe(200);
    return body.data;
  };
  const repository = "?owner=acme&repo=shop";
  const basic = `Basic ${Buffer.from(`x-access-token:${secret}`).toString("base64")}`;

  async function serving<T>(listener: RequestListener, work: (url: string) => Promise<T>): Promise<T> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.close();
    }
  }

  it("reads the repository's branches with the token", async () => {
    const type = { "content-type": "application/x-git-upload-pack-advertisement" };
    const listener: RequestListener = (request, response) => {
      const asked = request.url === "/acme/shop.git/info/refs?service=git-upload-pack";
      const allowed = request.headers.authorization === basic;
      response.writeHead(!asked ? 404 : allowed ? 200 : 401, type).end();
    };
    await serving(listener, async (baseUrl) => {
      const good = await add({ baseUrl });
      expect(await check(good, repository)).toEqual({
        ok: true,
        checked: "repository",
        repository: "acme/shop",
      });
      const wrong = await add({ baseUrl, secret: "wrong-token" });
      expect(await check(wrong, repository)).toMatchObject({ ok: false, code: "git_not_allowed" });
      const missing = await check(good, "?owner=acme&repo=other");
      expect(missing).toMatchObject({ ok: false, code: "git_repository_not_found" });
      await addProject(acme.call, await addServer(acme.call), source(good));
      expect(await check(good)).toMatchObject({ ok: true, repository: "acme/shop" });
      const narrowed = await acme.with({ projectIds: [] });
      const unseen = await narrowed("POST", `/api/git-connections/${good}/check`);
      expect(unseen.body.data.repository).toBeNull();
    });
  });

  it("says of an address alone only that it answers, and keeps the token to itself", async () => {
    const seen: unknown[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push(request.headers.authorization);
      response.end("welcome");
    };
    await serving(listener, async (baseUrl) => {
      const id = await add({ baseUrl });
      expect(await check(id)).toEqual({ ok: true, checked: "address", repository: null });
      expect(seen).toEqual([undefined]);
      expect(await check(id, repository)).toMatchObject({ ok: false, code: "git_failed" });
    });
  });

  it("follows no redirect", async () => {
    let stolen = 0;
    const thief: RequestListener = (_, response) => {
      stolen++;
      response.end();
    };
    await serving(thief, (target) =>
      serving(
        (request, response) => response.writeHead(302, { location: `${target}${request.url}` }).end(),
        async (baseUrl) => {
          const id = await add({ baseUrl });
          expect(await check(id, repository)).toMatchObject({ ok: false, code: "git_redirected" });
        },
      ),
    );
    expect(stolen).toBe(0);
  });

  it("says when nothing answers, without the token", async () => {
    const baseUrl = await serving(
      () => undefined,
      async (url) => url,
    );
    const found = await check(await add({ baseUrl }), repository);
    expect(found).toMatchObject({ ok: false, code: "git_unreachable" });
    expect(JSON.stringify(found)).not.toContain(secret);
  });

  it("tries a deploy key on the host with the confirmed key", async () => {
    const key = deployKey();
    const id = await add(key);
    platform.shell.answer({ code: 128 });
    expect(await check(id)).toEqual({ ok: true, checked: "deploy_key", repository: null });
    const target = platform.shell.commands.at(-1)?.target;
    expect(target).toMatchObject({ host: "git.test", port: 2222, user: "git", hostKey: key.hostKey });
    expect(platform.shell.forgotten).toContain(id);
    for (const reason of ["host_key_changed", "authentication", "unreachable"] as const) {
      platform.shell.answer(new ShellFailure(reason, "no"));
      expect(await check(id)).toMatchObject({ ok: false, code: reason });
    }
  });
});
