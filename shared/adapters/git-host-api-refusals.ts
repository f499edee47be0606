/**
 * What an answer other than the wanted one means, and what a person can do. Hosts answer 404 for what a token may not
 * see, 403 both for missing rights and for too many requests.
 */
import { GitHostApiFailure } from "../ports/git-host-api.ts";
import type { GitHostAnswer } from "./git-host-api-call.ts";

type What = "hook" | "status";

const rights: Record<What, string> = {
  hook: "the scope admin:repo_hook, or for a fine-grained token the permission Webhooks (read and write)",
  status:
    "the scope repo:status, or for a fine-grained token the permission Commit statuses (read and write)",
};

export function judge({ status, headers }: GitHostAnswer, what: What): GitHostApiFailure {
  const pauseMs = askedPause(headers);
  if (status === 429 || (status === 403 && pauseMs !== null)) {
    const says = "The git host says that this token has asked too often. Try again later.";
    return new GitHostApiFailure("away", says, { retryAfterMs: pauseMs ?? 0 });
  }
  if (status >= 500) {
    return new GitHostApiFailure("away", `The git host answers with status ${status}. Try again later.`);
  }
  if (status === 422) return new GitHostApiFailure("invalid", invalid[what]);
  return new GitHostApiFailure("denied", denied(status, what));
}

const invalid: Record<What, string> = {
  hook: "The git host does not accept the webhook (status 422). It refuses an address that it cannot reach from where it is, and too many webhooks of one repository.",
  status: "The git host does not accept a status for this commit (status 422).",
};

function denied(status: number, what: What): string {
  if (status === 401) {
    return "The git host does not accept the connection's token: it is wrong, expired or revoked. Give the git connection another one.";
  }
  if (status === 403) {
    return `The connection's token may not do this. It needs ${rights[what]}, and somebody's admin or write access to the repository.`;
  }
  if (status === 404) {
    return `The git host shows this repository to the connection's token not at all, or not enough of it. Check owner and repo; the token needs ${rights[what]}.`;
  }
  if (status >= 300 && status < 400) {
    return "The repository has moved at the git host; the token is not sent there. Give the project's source its new owner and repo.";
  }
  return `The address of the git connection does not answer like the API of GitHub or GitHub Enterprise (status ${status}).`;
}

const pauseMostMs = 3_600_000;

/** null: the host says nothing of a limit. */
function askedPause(headers: Record<string, string>): number | null {
  const seconds = Number(headers["retry-after"]);
  if (headers["retry-after"] !== undefined && seconds >= 0) return Math.min(seconds * 1_000, pauseMostMs);
  if (headers["x-ratelimit-remaining"] !== "0") return null;
  const atSeconds = Number(headers["x-ratelimit-reset"]);
  const pauseMs = Number.isFinite(atSeconds) ? atSeconds * 1_000 - Date.now() : 0;
  return Math.min(Math.max(pauseMs, 0), pauseMostMs);
}
