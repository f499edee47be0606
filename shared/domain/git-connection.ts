/**
 * What a connection to a git host may be used for: repositories below its address and nothing else. A secret that
 * followed a clone URL to another host would be given away by whoever may edit a project.
 */
export const gitConnectionKinds = ["token", "deploy_key"] as const;
export type GitConnectionKind = (typeof gitConnectionKinds)[number];

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
