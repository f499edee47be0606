/**
 * How we sign in: the credential is opened only when the server has proven its host key, and offered as few times as possible, since
 * servers count failures. Rejected: ssh2's own order (`none` first: a round trip, and one strike in fail2ban).
 */
import ssh2, { type AnyAuthMethod, type ConnectConfig, type ParsedKey } from "ssh2";
import { type ShellCredential, ShellFailure, type ShellTarget } from "../ports/shell.ts";

type AuthHandler = Extract<ConnectConfig["authHandler"], (...args: never[]) => unknown>;

/**
 * A key is offered once. A password is offered by `password`, and by `keyboard-interactive` only where the server does not do the
 * former: a wrong password must not count as two attempts.
 */
export function authentication(target: ShellTarget, failed: (failure: unknown) => void): AuthHandler {
  const offered = new Set<string>();
  let opened: Promise<ShellCredential> | undefined;
  return (methodsLeft, _partialSuccess, next) => {
    opened ??= target.credential();
    opened
      .then((credential) => nextMethod(target.user, credential, offered, methodsLeft ?? []))
      .catch((failure: unknown) => {
        failed(failure);
        return false as const;
      })
      .then((method) => next(method as AnyAuthMethod));
    return undefined as never;
  };
}

function nextMethod(
  username: string,
  credential: ShellCredential,
  offered: Set<string>,
  methodsLeft: string[],
): AnyAuthMethod | false {
  const first = offered.size === 0;
  if (credential.kind === "key") {
    offered.add("publickey");
    return first ? { type: "publickey", username, key: readPrivateKey(credential) } : false;
  }
  if (first) {
    offered.add("password");
    return { type: "password", username, password: credential.password };
  }
  if (
    methodsLeft.includes("password") ||
    !methodsLeft.includes("keyboard-interactive") ||
    offered.has("keyboard-interactive")
  ) {
    return false;
  }
  offered.add("keyboard-interactive");
  return {
    type: "keyboard-interactive",
    username,
    // Only a question whose answer is hidden is the one for the password.
    prompt: (_name, _instructions, _language, prompts, finish) =>
      finish(prompts.map((prompt) => (prompt.echo === true ? "" : credential.password))),
  };
}

function readPrivateKey(credential: { privateKey: string; passphrase?: string }): ParsedKey {
  const parsed = ssh2.utils.parseKey(credential.privateKey, credential.passphrase);
  if (parsed instanceof Error || !parsed.isPrivateKey()) {
    throw new ShellFailure(
      "authentication",
      "The private key of this server cannot be read: wrong passphrase or unknown form.",
    );
  }
  return parsed;
}
