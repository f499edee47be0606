/** What the last lines of an unsuccessful fetch mean, in words that a person can act on. */
import { DeployFailure } from "../failure.ts";
import { diskFull } from "./full-disk.ts";

interface Reason {
  sign: RegExp;
  code: string;
  message: string;
  hint: string;
}

const reasons: readonly Reason[] = [
  {
    sign: /couldn't find remote ref|could not find remote ref/i,
    code: "git_branch_not_found",
    message: "The branch does not exist at the git host.",
    hint: "Check the branch of the project, or push the branch first.",
  },
  {
    sign: /could not read username|authentication failed|error: 40[13]|invalid username or password|permission denied \(/i,
    code: "git_not_allowed",
    message: "The git host does not hand out this repository without a credential that it accepts.",
    hint: "Give the project's source a git connection (connectionId) whose token or key may read the repository.",
  },
  {
    sign: /host key verification failed|remote host identification has changed/i,
    code: "git_host_key_changed",
    message: "The git host presents another key than the confirmed one; the deploy key was not offered.",
    hint: "Make sure that it is still your git host, then give the connection its new hostKey.",
  },
  {
    sign: /error: 30\d|unable to update url base from redirection/i,
    code: "git_redirected",
    message: "The git host answers with another address; the credential is not sent there.",
    hint: "Correct owner and repo of the project's source, or baseUrl of its git connection.",
  },
  {
    sign: /repository '.*' not found|error: 404|does not appear to be a git repository|not valid: is this a git repository/i,
    code: "git_repository_not_found",
    message: "There is no such repository at the git host.",
    hint: "Check owner, repo and cloneUrl of the project's source.",
  },
  {
    sign: /transport '.*' not allowed|unsupported protocol|unable to find remote helper/i,
    code: "git_protocol_refused",
    message: "Only http and https addresses are fetched.",
    hint: "Set cloneUrl to an http or https address, or use a git connection with a deploy key.",
  },
  {
    sign: /could not resolve host|failed to connect|couldn't connect|connection refused|timed out|operation too slow|early eof|hung up|recv failure|error: 5\d\d|ssl|certificate/i,
    code: "git_unreachable",
    message: "The server could not reach the git host.",
    hint: "Check that the server can open the address of the repository, then deploy again.",
  },
];

/** What an unsuccessful fetch means. `tail` are its last lines, already redacted. */
export function explainFetch(exitCode: number, tail: readonly string[]): DeployFailure {
  if (exitCode === 3) {
    const hint =
      "It was removed from the branch, by a force push for example; deploy the head of the branch.";
    return new DeployFailure(
      "git_commit_not_found",
      "The git host does not have this commit any more.",
      hint,
      tail,
    );
  }
  if (exitCode === 4) {
    const message = "The server's git is too old to be held to a checked address; 2.37 is needed.";
    return new DeployFailure("server_not_ready", message, "Whoever runs this cloud must update it.", tail);
  }
  if (exitCode === 127) {
    const hint = "Run the server's bootstrap, which installs git.";
    return new DeployFailure("server_not_ready", "git is not installed on the server.", hint, tail);
  }
  const text = tail.join("\n");
  if (/no space left on device/i.test(text)) return diskFull(tail);
  const reason = reasons.find(({ sign }) => sign.test(text));
  if (reason === undefined) {
    return new DeployFailure(
      "git_failed",
      `git ended with status ${exitCode}.`,
      "The last lines say why.",
      tail,
    );
  }
  return new DeployFailure(reason.code, reason.message, reason.hint, tail);
}
