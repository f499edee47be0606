/** Asks a git host by the platform's guarded requests. Status and type say it all; of the body nothing is used. */
import { type GitHost, GitHostFailure } from "../ports/git-host.ts";
import { type Outgoing, OutgoingFailure } from "../ports/outgoing.ts";

export function createGitHost(outgoing: Outgoing): GitHost {
  return {
    ask: async ({ url, credential, deadlineMs }) => {
      const headers: Record<string, string> = { "user-agent": "git/2.39 (slipway)" };
      if (credential !== undefined) headers["authorization"] = basic(credential);
      try {
        const answer = await outgoing.send({ method: "GET", url, headers, deadlineMs });
        return { status: answer.status, contentType: answer.headers["content-type"] ?? "" };
      } catch (cause) {
        if (!(cause instanceof OutgoingFailure)) throw cause;
        throw new GitHostFailure(sentences[cause.kind] ?? cause.message, { cause });
      }
    },
  };
}

const sentences: Partial<Record<OutgoingFailure["kind"], string>> = {
  timeout: "The git host did not answer in time.",
  unreachable: "The git host could not be reached.",
  unresolved: "The git host could not be reached.",
};

function basic({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}
