/** Requests to the API of one repository, which share one deadline. What came back is data: nothing of it is shown. */
import { type ApiRepository, GitHostApiFailure } from "../ports/git-host-api.ts";
import { type Outgoing, OutgoingFailure, type OutgoingRequest } from "../ports/outgoing.ts";

export interface GitHostAnswer {
  status: number;
  headers: Record<string, string>;
  /** Parsed; undefined where it is not JSON. */
  body: unknown;
}

/** Throws `GitHostApiFailure` where nothing answers. */
export type GitHostCall = (
  method: OutgoingRequest["method"],
  path: string,
  body?: object,
) => Promise<GitHostAnswer>;

/** A page of a hundred hooks is about 100 KB. */
const answerBytes = 1_048_576;

export function createGitHostCall(
  outgoing: Outgoing,
  { url, token }: ApiRepository,
  withinMs: number,
): GitHostCall {
  const endMs = performance.now() + withinMs;
  return async (method, path, body) => {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "user-agent": "slipway",
      "x-github-api-version": "2022-11-28",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    const deadlineMs = Math.max(1, Math.ceil(endMs - performance.now()));
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const request = { method, url: url + path, headers, deadlineMs, answerBytes, ...content };
      const { text, ...answer } = await outgoing.send(request);
      return { ...answer, body: parse(text) };
    } catch (cause) {
      if (!(cause instanceof OutgoingFailure)) throw cause;
      throw away(cause);
    }
  };
}

/** A host that leads into a private network does so again, until a person changes that. */
function away(cause: OutgoingFailure): GitHostApiFailure {
  if (cause.kind === "refused_target") return new GitHostApiFailure("denied", cause.message, { cause });
  const sentence =
    cause.kind === "timeout"
      ? "The git host did not answer in time. Try again later."
      : "The git host could not be reached. Check the address of the git connection, or try again later.";
  return new GitHostApiFailure("away", sentence, { cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The status says what to think of it.
  }
}
