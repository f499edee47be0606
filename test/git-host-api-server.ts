/**
 * A git host on this machine that keeps webhooks and commit statuses by the rules that GitHub documents for its API:
 * who may ask, 201, 200, 204, 404 and 422, one hook a URL, pages, masked secrets, a config without a secret loses it.
 * Below `/api/v3` like GitHub Enterprise, and at the root like api.github.com.
 */
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Outgoing } from "../shared/ports/outgoing.ts";

export interface HostedHook {
  id: number;
  name: string;
  active: boolean;
  events: string[];
  config: Record<string, string>;
}

export interface HostedStatus {
  sha: string;
  state: string;
  context: string;
  description: string;
  target_url: string;
}

export interface AskedRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown> | null;
}

interface Repository {
  hooks: HostedHook[];
  statuses: HostedStatus[];
  commits: Set<string>;
}

interface Fault {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

type Right = "hooks" | "statuses";

export async function openGitHostApi() {
  const repositories = new Map<string, Repository>();
  const tokens = new Map<string, Set<Right>>();
  const asked: AskedRequest[] = [];
  const host = {
    /** null: the request hangs. */
    faults: [] as (Fault | null)[],
    /** Like GitHub itself, which calls nobody's own machine. */
    refusesLocal: false,
    /** Called before each request is looked at. */
    before: async (_request: AskedRequest): Promise<void> => undefined,
  };
  let lastId = 100;

  const answerTo = (request: AskedRequest): Fault & { json?: unknown } => {
    if (request.headers["user-agent"] === undefined) return { status: 403 };
    const rights = tokens.get(request.headers.authorization?.replace(/^Bearer /, "") ?? "");
    if (rights === undefined) return { status: 401, json: { message: "Bad credentials" } };
    const url = new URL(request.path, "http://host");
    const [, name, rest = ""] = /^(?:\/api\/v3)?\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(url.pathname) ?? [];
    const repository = repositories.get((name ?? "").toLowerCase());
    const missing = { status: 404, json: { message: "Not Found" } };
    if (repository === undefined) return missing;
    if (rest.startsWith("/statuses/")) {
      if (!rights.has("statuses")) {
        return { status: 403, json: { message: "Resource not accessible by personal access token" } };
      }
      return addStatus(repository, rest.slice("/statuses/".length), request);
    }
    return rights.has("hooks") ? hooks(repository, rest, url, request) : missing;
  };

  const invalid = (message: string) => ({
    status: 422,
    json: { message: "Validation Failed", errors: [{ message }] },
  });

  function hooks(repository: Repository, rest: string, url: URL, request: AskedRequest) {
    if (rest === "/hooks" && request.method === "GET") return list(repository, url);
    if (rest === "/hooks" && request.method === "POST") return make(repository, request.body ?? {});
    const hook = repository.hooks.find(({ id }) => rest === `/hooks/${id}`);
    if (hook === undefined) return { status: 404, json: { message: "Not Found" } };
    if (request.method === "DELETE") {
      repository.hooks.splice(repository.hooks.indexOf(hook), 1);
      return { status: 204 };
    }
    if (request.method !== "PATCH") return { status: 405 };
    const { config, events, active } = request.body ?? {};
    const wanted = (config ?? hook.config) as Record<string, string>;
    const refused = refuse(repository, wanted, hook);
    if (refused !== null) return refused;
    Object.assign(hook, { config: { ...wanted } });
    if (Array.isArray(events)) hook.events = events;
    if (typeof active === "boolean") hook.active = active;
    return { status: 200, json: masked(hook) };
  }

  function refuse(repository: Repository, config: Record<string, string>, self?: HostedHook) {
    if (config["url"] === undefined) return invalid("url is missing");
    if (host.refusesLocal && /^https?:\/\/(localhost|127\.)/.test(config["url"])) {
      return invalid("url is not supported because it isn't reachable over the public Internet (localhost)");
    }
    const taken = repository.hooks.some((each) => each !== self && each.config["url"] === config["url"]);
    return taken ? invalid("Hook already exists on this repository") : null;
  }

  function make(repository: Repository, body: Record<string, unknown>) {
    const { name, config, events = ["push"], active = true } = body;
    if (name !== "web") return invalid("name must be web");
    const wanted = (config ?? {}) as Record<string, string>;
    const refused = refuse(repository, wanted);
    if (refused !== null) return refused;
    const hook = {
      id: ++lastId,
      name,
      active: active === true,
      events: events as string[],
      config: { ...wanted },
    };
    repository.hooks.push(hook);
    return { status: 201, json: masked(hook) };
  }

  function list(repository: Repository, url: URL) {
    const perPage = Math.min(Number(url.searchParams.get("per_page") ?? 30), 100);
    const page = Number(url.searchParams.get("page") ?? 1);
    const more = repository.hooks.length > page * perPage;
    const next = `<${url.origin}${url.pathname}?per_page=${perPage}&page=${page + 1}>; rel="next"`;
    const shown = repository.hooks.slice((page - 1) * perPage, page * perPage).map(masked);
    return { status: 200, json: shown, ...(more ? { headers: { link: next } } : {}) };
  }

  function addStatus(repository: Repository, sha: string, { body }: AskedRequest) {
    if (!repository.commits.has(sha)) return invalid(`No commit found for SHA: ${sha}`);
    const status = { sha, ...body } as unknown as HostedStatus;
    const states = ["error", "failure", "pending", "success"];
    if (!states.includes(status.state) || status.description.length > 140)
      return invalid("is not included in the list");
    repository.statuses.push(status);
    return { status: 201, json: { id: ++lastId, ...status } };
  }

  const server = createServer((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse) {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { method = "", url: path = "", headers } = request;
    const seen = { method, path, headers, body: text === "" ? null : JSON.parse(text) };
    asked.push(seen);
    await host.before(seen);
    const fault = host.faults.shift();
    if (fault === null) return;
    const answer = fault ?? answerTo(seen);
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    const json = "json" in answer ? JSON.stringify(answer.json) : undefined;
    response.end(answer.body ?? json);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return Object.assign(host, {
    url,
    asked,
    /** A repository of `owner/name`, and a token that may do these things there. */
    repository(name: string, commits: string[] = []): Repository {
      const made = { hooks: [], statuses: [], commits: new Set(commits) };
      repositories.set(name.toLowerCase(), made);
      return made;
    },
    token(...rights: Right[]): string {
      const token = `ghp_${randomUUID().replaceAll("-", "")}`;
      tokens.set(token, new Set(rights));
      return token;
    },
    grant: (token: string, right: Right) =>
      void tokens.set(token, new Set([...(tokens.get(token) ?? []), right])),
    revoke: (token: string) => void tokens.delete(token),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

export type GitHostApiServer = Awaited<ReturnType<typeof openGitHostApi>>;

function masked({ config, ...hook }: HostedHook) {
  return {
    ...hook,
    config: { ...config, ...(config["secret"] === undefined ? {} : { secret: "********" }) },
  };
}

/** A delivery as the host signs it with what it was given. */
export function signedBy(hook: HostedHook, body: string): { path: string; init: RequestInit } {
  const signature = createHmac("sha256", hook.config["secret"] ?? "")
    .update(body)
    .digest("hex");
  const { pathname, search } = new URL(hook.config["url"] ?? "");
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-github-delivery": randomUUID(),
    ...(hook.config["secret"] === undefined ? {} : { "x-hub-signature-256": `sha256=${signature}` }),
  };
  return { path: pathname + search, init: { method: "POST", headers, body } };
}

/** Requests to one API (default: GitHub's own) reach this machine instead; everything else goes where it goes. */
export function asGitHub(
  outgoing: Outgoing,
  host: { url: string },
  api = "https://api.github.com",
): Outgoing & { sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    send: (request) => {
      sent.push(request.url);
      const { url } = request;
      return outgoing.send({ ...request, url: url.startsWith(api) ? host.url + url.slice(api.length) : url });
    },
  };
}
