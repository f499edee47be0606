/**
 * What a connection to a git host may be used for: repositories below its address and nothing else. A secret that
 * followed a clone URL to another host would be given away by whoever may edit a project.
 */
export const gitConnectionKinds = ["token", "deploy_key"] as const;
export type GitConnectionKind = (typeof gitConnectionKinds)[number];

/** What a git host shows beside a commit; `failure` is the commit's, `error` anything else's. */
export type CommitState = "pending" | "success" | "failure" | "error";

/** A webhook at a git host, by its id there and the address of its repository in the host's API. */
export interface HostHook {
  id: string;
  repositoryUrl: string;
}

/** Any user name goes with a token at the large hosts; this is the one that all of them document or ignore. */
export const tokenUser = "x-access-token";

/** Where a repository is cloned from, or null where the given URL does not lie below the connection's address. */
export function cloneUrlBelow(
  baseUrl: string,
  source: { owner: string; repo: string; cloneUrl?: string | undefined },
): string | null {
  const base = URL.parse(baseUrl);
  if (base === null) return null;
  const root = base.href.replace(/\/+$/, "");
  if (source.cloneUrl === undefined) return `${root}/${source.owner}/${source.repo}.git`;
  const url = URL.parse(source.cloneUrl);
  return url?.href.startsWith(`${root}/`) === true ? url.href : null;
}

/**
 * The address of a repository in the API of its host: GitHub's own, else that of GitHub Enterprise below the connection's
 * address. null where owner and repo are not what is cloned: a token must not act on a repository that its connection
 * does not lead to.
 */
export function apiRepositoryUrl(
  baseUrl: string,
  source: { owner: string; repo: string; cloneUrl?: string | undefined },
): string | null {
  const cloneUrl = cloneUrlBelow(baseUrl, source);
  const base = URL.parse(baseUrl);
  if (cloneUrl === null || base === null || !base.protocol.startsWith("http")) return null;
  const isGitHub = base.origin === "https://github.com";
  const root = isGitHub ? base.origin : base.href.replace(/\/+$/, "");
  const { owner, repo } = source;
  const cloned = cloneUrl.replace(/\/+$/, "").replace(/\.git$/i, "");
  if (cloned.toLowerCase() !== `${root}/${owner}/${repo}`.toLowerCase()) return null;
  const api = isGitHub ? "https://api.github.com" : `${root}/api/v3`;
  return `${api}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;
}
