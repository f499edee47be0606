/**
 * The API of GitHub and of GitHub Enterprise, by the platform's own requests. A hook is looked for before one is made,
 * since the host refuses a second one with the same URL and a link that was cut off half way may have made it. Rejected:
 * the host's library (its own fetch goes around the guard of addresses), and following a redirect with the token in hand.
 */
import { limits } from "../domain/limits.ts";
import type { GitHostApi, WantedHook } from "../ports/git-host-api.ts";
import type { Outgoing } from "../ports/outgoing.ts";
import { createGitHostCall, type GitHostAnswer, type GitHostCall } from "./git-host-api-call.ts";
import { judge } from "./git-host-api-refusals.ts";

export function createGitHostApi(outgoing: Outgoing): GitHostApi {
  return {
    putHook: async (repository, hook) => {
      const call = createGitHostCall(outgoing, repository, limits.hookRegisterMs);
      if (hook.knownId !== null) {
        const id = await update(call, hook.knownId, hook);
        if (id !== null) return id;
      }
      return put(call, hook);
    },
    removeHook: async (repository, id) => {
      const call = createGitHostCall(outgoing, repository, limits.hookRemoveMs);
      const answer = await call("DELETE", hookPath(id));
      if (answer.status === 204 || answer.status === 404) return;
      throw judge(answer, "hook");
    },
    setStatus: async (repository, { commitSha, state, context, description, targetUrl }) => {
      const call = createGitHostCall(outgoing, repository, limits.statusSendMs);
      const body = { state, context, description, target_url: targetUrl };
      const answer = await call("POST", `/statuses/${encodeURIComponent(commitSha)}`, body);
      if (answer.status !== 201) throw judge(answer, "status");
    },
  };
}

async function put(call: GitHostCall, hook: WantedHook): Promise<string> {
  const found = await find(call, hook.url);
  if (found !== null) {
    const id = await update(call, found, hook);
    if (id !== null) return id;
  }
  const made = await call("POST", "/hooks", { name: "web", ...form(hook) });
  if (made.status === 201) return idOf(made.body) ?? fail(made);
  // Somebody else has made it since: two links of one project at once.
  const raced = made.status === 422 ? await find(call, hook.url) : null;
  return (raced === null ? null : await update(call, raced, hook)) ?? fail(made);
}

/** null where the hook is gone. The secret goes along each time: the host drops it from a config without one. */
async function update(call: GitHostCall, id: string, hook: WantedHook): Promise<string | null> {
  const answer = await call("PATCH", hookPath(id), form(hook));
  if (answer.status === 404) return null;
  return answer.status === 200 ? id : fail(answer);
}

function form({ url, secret }: WantedHook) {
  return {
    active: true,
    events: ["push"],
    config: { url, content_type: "json", secret, insecure_ssl: "0" },
  };
}

const perPage = 100;
/** Hosts allow some dozens of hooks; a host that always says there is more is not followed for ever. */
const pagesMost = 5;

/** By path and query: the platform's own address may have changed, the opaque id in the query has not. */
async function find(call: GitHostCall, url: string): Promise<string | null> {
  const { pathname, search } = new URL(url);
  for (let page = 1; page <= pagesMost; page++) {
    const answer = await call("GET", `/hooks?per_page=${perPage}&page=${page}`);
    if (answer.status !== 200 || !Array.isArray(answer.body)) return fail(answer);
    const hook = answer.body.find((each) => urlOf(each)?.endsWith(pathname + search) === true);
    const id = idOf(hook);
    if (id !== null) return id;
    if (!/rel="?next"?/.test(answer.headers["link"] ?? "")) return null;
  }
  return null;
}

function urlOf(hook: unknown): string | undefined {
  const { config } = (hook ?? {}) as { config?: unknown };
  const { url } = (config ?? {}) as { url?: unknown };
  return typeof url === "string" ? url : undefined;
}

function idOf(hook: unknown): string | null {
  const { id } = (hook ?? {}) as { id?: unknown };
  return typeof id === "number" && Number.isSafeInteger(id) ? String(id) : null;
}

function hookPath(id: string): string {
  return `/hooks/${encodeURIComponent(id)}`;
}

function fail(answer: GitHostAnswer): never {
  throw judge(answer, "hook");
}
