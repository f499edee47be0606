import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGitHostApi } from "../../../shared/adapters/git-host-api-http.ts";
import type { GitHostApiFailure } from "../../../shared/ports/git-host-api.ts";
import { asGitHub, type GitHostApiServer, openGitHostApi } from "../../git-host-api-server.ts";
import { testOutgoing } from "../../outgoing.ts";

let host: GitHostApiServer;
beforeEach(async () => {
  host = await openGitHostApi();
});
afterEach(() => host.close());

const sha = "c".repeat(40);
const api = createGitHostApi(testOutgoing());
const hook = {
  knownId: null,
  url: "https://slipway.example.com/api/webhooks/git_host?hook=hok_1",
  secret: "s3cret",
};
const status = {
  commitSha: sha,
  state: "success" as const,
  context: "slipway/shop",
  description: "Live",
  targetUrl: "https://slipway.example.com/api/deployments/dep_1",
};

function shop(...rights: ("hooks" | "statuses")[]) {
  const repository = host.repository("Acme/Shop", [sha]);
  return { repository, at: { url: `${host.url}/api/v3/repos/acme/shop`, token: host.token(...rights) } };
}

const failure = (work: Promise<unknown>): Promise<GitHostApiFailure> =>
  work.then(
    () => expect.fail("it went"),
    (error) => error,
  );

describe("a webhook at the git host", () => {
  it("asks for pushes as JSON, with its secret and a checked certificate, and for nothing else", async () => {
    const { repository, at } = shop("hooks");
    const id = await api.putHook(at, hook);
    expect(repository.hooks).toEqual([
      {
        id: Number(id),
        name: "web",
        active: true,
        events: ["push"],
        config: { url: hook.url, content_type: "json", secret: "s3cret", insecure_ssl: "0" },
      },
    ]);
    const [request] = host.asked;
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${at.token}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
    });
  });

  it("is asked for at GitHub's own API in the same way", async () => {
    const { repository, at } = shop("hooks");
    const outgoing = asGitHub(testOutgoing(), host);
    await createGitHostApi(outgoing).putHook({ ...at, url: "https://api.github.com/repos/acme/shop" }, hook);
    expect(repository.hooks).toHaveLength(1);
    expect(outgoing.sent).toEqual([
      "https://api.github.com/repos/acme/shop/hooks?per_page=100&page=1",
      "https://api.github.com/repos/acme/shop/hooks",
    ]);
  });

  it("is updated and never made twice, whether its id is known or not", async () => {
    const { repository, at } = shop("hooks");
    const id = await api.putHook(at, hook);
    expect(await api.putHook(at, { ...hook, secret: "second" })).toBe(id);
    expect(await api.putHook(at, { ...hook, knownId: id, secret: "third" })).toBe(id);
    expect(repository.hooks).toHaveLength(1);
    expect(repository.hooks[0]?.config["secret"]).toBe("third");
  });

  it("is put right where somebody has changed it, and made again where it was removed", async () => {
    const { repository, at } = shop("hooks");
    const id = await api.putHook(at, hook);
    Object.assign(repository.hooks[0] ?? {}, { active: false, events: ["push", "issues"] });
    await api.putHook(at, { ...hook, knownId: id });
    expect(repository.hooks[0]).toMatchObject({ active: true, events: ["push"] });
    repository.hooks.length = 0;
    const again = await api.putHook(at, { ...hook, knownId: id });
    expect(again).not.toBe(id);
    expect(repository.hooks).toHaveLength(1);
  });

  it("is found behind a page of others, and by its opaque id when the platform has moved", async () => {
    const { repository, at } = shop("hooks");
    const others = Array.from({ length: 130 }, (_, count) => ({
      ...{ id: 5_000 + count, name: "web", active: true, events: ["push"] },
      config: { url: `https://ci.example.com/hooks/${count}` },
    }));
    repository.hooks.push(...others);
    const id = await api.putHook(at, hook);
    const moved = hook.url.replace("slipway.example.com", "new.example.com");
    expect(await api.putHook(at, { ...hook, url: moved })).toBe(id);
    expect(repository.hooks).toHaveLength(131);
    expect(repository.hooks.at(-1)?.config["url"]).toBe(moved);
  });

  it("made by somebody else at the same moment is taken over", async () => {
    const { repository, at } = shop("hooks");
    host.before = async ({ method }) => {
      if (method !== "POST" || repository.hooks.length > 0) return;
      repository.hooks.push({
        id: 7,
        name: "web",
        active: true,
        events: ["push"],
        config: { url: hook.url },
      });
    };
    expect(await api.putHook(at, hook)).toBe("7");
    expect(repository.hooks).toHaveLength(1);
    expect(repository.hooks[0]?.config["secret"]).toBe("s3cret");
  });

  it("is removed by its id; one that is gone is fine", async () => {
    const { repository, at } = shop("hooks");
    await api.putHook(at, hook);
    const id = await api.putHook(at, { ...hook, url: `${hook.url}2` });
    await api.removeHook(at, id);
    await api.removeHook(at, id);
    expect(repository.hooks.map(({ config }) => config["url"])).toEqual([hook.url]);
  });
});

describe("a status beside a commit", () => {
  it("says state, context, description and where to look", async () => {
    const { repository, at } = shop("statuses");
    await api.setStatus(at, status);
    expect(repository.statuses).toEqual([
      { sha, state: "success", context: "slipway/shop", description: "Live", target_url: status.targetUrl },
    ]);
  });

  it("is invalid for a commit that the host does not have", async () => {
    const { at } = shop("statuses");
    expect(await failure(api.setStatus(at, { ...status, commitSha: "d".repeat(40) }))).toMatchObject({
      kind: "invalid",
    });
  });
});

describe("what a git host refuses", () => {
  const cases: [string, number, Record<string, string>, string, string][] = [
    ["a token that does not hold", 401, {}, "denied", "expired or revoked"],
    ["missing rights", 403, {}, "denied", "repo:status"],
    ["a repository that the token may not see", 404, {}, "denied", "owner and repo"],
    ["a repository that has moved", 301, { location: "https://elsewhere.test/" }, "denied", "has moved"],
    ["an address that is no git host", 405, {}, "denied", "API of GitHub"],
    ["what it does not accept", 422, {}, "invalid", "422"],
    ["too many requests", 429, { "retry-after": "7" }, "away", "too often"],
    ["too many requests, said as 403", 403, { "x-ratelimit-remaining": "0" }, "away", "too often"],
    ["its own failure", 502, {}, "away", "502"],
  ];
  it.each(cases)("%s", async (_, code, headers, kind, words) => {
    const { at } = shop("statuses");
    host.faults.push({ status: code, headers, body: JSON.stringify({ message: `echo ${at.token}` }) });
    const failed = await failure(api.setStatus(at, status));
    expect(failed.kind).toBe(kind);
    expect(failed.message).toContain(words);
    expect(failed.message).not.toContain(at.token);
    expect(host.asked).toHaveLength(1);
  });

  it("says how long it wants not to be asked", async () => {
    const { at } = shop("statuses");
    host.faults.push({ status: 429, headers: { "retry-after": "7" } });
    expect((await failure(api.setStatus(at, status))).retryAfterMs).toBe(7_000);
  });

  it("a list that is none", async () => {
    const { at } = shop("hooks");
    host.faults.push({ status: 200, body: "<html>" });
    expect(await failure(api.putHook(at, hook))).toMatchObject({ kind: "denied" });
  });

  it("anything, where nothing answers", async () => {
    const { at } = shop("hooks");
    await host.close();
    const gone = await failure(api.putHook(at, hook));
    expect(gone).toMatchObject({ kind: "away", message: expect.stringContaining("could not be reached") });
    host = await openGitHostApi();
  });

  it("a private address, where the operator's network is guarded", async () => {
    const { at } = shop("hooks");
    const guarded = createGitHostApi(testOutgoing({ guarded: true }));
    const refused = await failure(guarded.putHook(at, hook));
    expect(refused).toMatchObject({ kind: "denied", message: expect.stringContaining("not public") });
    expect(host.asked).toEqual([]);
  });
});
