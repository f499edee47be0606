/**
 * Why there is no connection, in the port's words and with a sentence for a person: ssh2 and the socket tell it by levels, codes and
 * texts. Nothing of the credential is in any of them.
 */
import { ShellFailure, type ShellFailureReason, type ShellTarget } from "../ports/shell.ts";

interface Address {
  host: string;
  port: number;
}

type Told = Error & { level?: string; code?: unknown };

export function explain(address: Address, error: Told): ShellFailure {
  if (error instanceof ShellFailure) {
    return error;
  }
  const [reason, sentence] = classify(error);
  return new ShellFailure(reason, `${where(address)} ${sentence}`, { cause: error });
}

function classify(error: Told): [ShellFailureReason, string] {
  if (error.level === "client-authentication" || /authentication failures/i.test(error.message)) {
    return ["authentication", "refused the credential."];
  }
  if (/no matching host key/i.test(error.message)) {
    return ["host_key_changed", "no longer has a host key of the confirmed type. No credential was sent."];
  }
  if (error.level === "client-timeout") {
    return ["unreachable", "did not answer in time."];
  }
  if (error.message === "Connection lost before handshake" || error.message === "The connection was closed") {
    return ["unreachable", "closed the connection before it was ready."];
  }
  if (error.level === "handshake" || error.level === "protocol") {
    return ["unreachable", "accepts connections but does not speak SSH in a way that is supported here."];
  }
  const known: Record<string, string> = {
    ECONNREFUSED: "refused the connection.",
    ENOTFOUND: "has a name that cannot be resolved.",
    EAI_AGAIN: "has a name that cannot be resolved at the moment.",
    ECONNRESET: "closed the connection before it was ready.",
    ETIMEDOUT: "did not answer in time.",
    EHOSTUNREACH: "cannot be reached from here.",
    ENETUNREACH: "cannot be reached from here.",
  };
  return ["unreachable", known[String(error.code)] ?? "could not be connected."];
}

export function where(address: Address): string {
  return `The server at ${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}

export function hostKeyChanged(target: ShellTarget, cause: Error): ShellFailure {
  return new ShellFailure(
    "host_key_changed",
    `${where(target)} presents another host key than the confirmed one. No credential was sent.`,
    { cause },
  );
}

export function credentialUnreadable(failure: unknown): ShellFailure {
  if (failure instanceof ShellFailure) {
    return failure;
  }
  return new ShellFailure("authentication", "The credential of this server could not be opened.", {
    cause: failure,
  });
}
