/** Asks a git host by the platform's own `fetch`. The body is never read: status and type say it all. */
import { type GitHost, GitHostFailure } from "../ports/git-host.ts";

export function createGitHost(): GitHost {
  return {
    ask: async ({ url, credential, deadlineMs }) => {
      const headers: Record<string, string> = { "user-agent": "git/2.39 (slipway)" };
      if (credential !== undefined) headers["authorization"] = basic(credential);
      try {
        const answer = await fetch(url, {
          headers,
          redirect: "manual",
          signal: AbortSignal.timeout(deadlineMs),
        });
        await answer.body?.cancel();
        return { status: answer.status, contentType: answer.headers.get("content-type") ?? "" };
      } catch (cause) {
        const late = cause instanceof DOMException && cause.name === "TimeoutError";
        const why = late ? "did not answer in time" : "could not be reached";
        throw new GitHostFailure(`The git host ${why}.`, { cause });
      }
    },
  };
}

function basic({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}
