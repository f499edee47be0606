/**
 * One authenticated SSH connection: TCP, handshake with the pinned host key, authentication; or the reason why there is none.
 * The credential is asked for only after the host key was verified, so a changed key can never see one. Each failure becomes a
 * `ShellFailure` with a sentence for a person. Rejected: ssh2's own socket (no guard, no deadline before TCP) and its `none` attempt
 * (a round trip, and one strike in fail2ban).
 */
import { connect as openTcp, type Socket } from "node:net";
import ssh2, { type AnyAuthMethod, type Client, type ConnectConfig, type ParsedKey } from "ssh2";
import {
  type HostKey,
  type ShellCredential,
  ShellFailure,
  type ShellFailureReason,
  type ShellTarget,
} from "../ports/shell.ts";
import { anyHostKeyAlgorithm, describeHostKey, readPinnedKey } from "./ssh2-host-key.ts";

/** Opens the TCP connection; a composition root that guards addresses (cloud mode) gives its own. Must not block. */
export type OpenSocket = (address: { host: string; port: number }) => Socket;

export interface ConnectOptions {
  /** Until authenticated, milliseconds. */
  timeoutMs: number;
  keepaliveIntervalMs: number;
  keepaliveCountMax: number;
  openSocket?: OpenSocket | undefined;
  signal: AbortSignal;
}

export interface Connection {
  client: Client;
  /** Resolves once the socket is gone. */
  closed: Promise<void>;
  isOpen(): boolean;
  /** Says goodbye and closes; a peer that does not answer within a second loses the socket all the same. */
  end(): void;
}

export const openTcpSocket: OpenSocket = ({ host, port }) =>
  openTcp({ host, port, noDelay: true, autoSelectFamily: true });

export async function connect(target: ShellTarget, options: ConnectOptions): Promise<Connection> {
  const pinned = readPinnedKey(target.hostKey);
  const verdict: { changed?: boolean; credentialFailure?: unknown } = {};
  const attempt = startAttempt(target, options, {
    username: target.user,
    keepaliveInterval: options.keepaliveIntervalMs,
    keepaliveCountMax: options.keepaliveCountMax,
    algorithms: { ...fastAlgorithms, serverHostKey: pinned.algorithms },
    hostVerifier: (presented: Buffer): boolean => {
      const matches = pinned.matches(presented);
      verdict.changed = !matches;
      return matches;
    },
    authHandler: authentication(target, (failure) => {
      verdict.credentialFailure = failure;
    }),
  });
  return await new Promise<Connection>((resolve, reject) => {
    attempt.client.once("ready", () => {
      attempt.settle();
      resolve(attempt.connection);
    });
    attempt.onFailure((error) => {
      if (verdict.changed === true) {
        reject(hostKeyChanged(target, error));
      } else if (verdict.credentialFailure !== undefined) {
        reject(credentialUnreadable(verdict.credentialFailure));
      } else {
        reject(explain(target, error));
      }
    });
  });
}

/** The host key that is presented and proven by a signature; the connection ends before any authentication starts. */
export async function probeHostKey(
  address: { host: string; port: number },
  options: ConnectOptions,
): Promise<HostKey> {
  let presented: Buffer | undefined;
  const attempt = startAttempt(address, options, {
    username: "none",
    algorithms: { ...fastAlgorithms, serverHostKey: anyHostKeyAlgorithm },
    hostVerifier: (key: Buffer): boolean => {
      presented = Buffer.from(key);
      return true;
    },
    authHandler: (_left, _partial, next) => next(false as never),
  });
  return await new Promise<HostKey>((resolve, reject) => {
    attempt.client.once("handshake", () => {
      attempt.settle();
      attempt.destroy();
      if (presented === undefined) {
        reject(new ShellFailure("unreachable", `${where(address)} presented no host key.`));
      } else {
        resolve(describeHostKey(presented));
      }
    });
    attempt.onFailure((error) => reject(explain(address, error)));
  });
}

/**
 * AES-GCM first: Node's own OpenSSL does it in hardware, and ssh2's native build (chacha20) is not installed. No SHA-1, no CBC.
 */
const fastAlgorithms: NonNullable<ConnectConfig["algorithms"]> = {
  cipher: [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-ctr",
    "aes256-ctr",
    "chacha20-poly1305@openssh.com",
  ],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
  compress: ["none"],
};

interface Attempt {
  client: Client;
  connection: Connection;
  /** Called at most once, and never after `settle`. */
  onFailure(report: (error: Error) => void): void;
  settle(): void;
  destroy(): void;
}

function startAttempt(
  address: { host: string; port: number },
  options: ConnectOptions,
  config: ConnectConfig,
): Attempt {
  const socket = (options.openSocket ?? openTcpSocket)({ host: address.host, port: address.port });
  const client = new ssh2.Client();
  let open = true;
  let settled = false;
  let report: ((error: Error) => void) | undefined;
  let early: Error | undefined;
  const settle = (): void => {
    settled = true;
    options.signal.removeEventListener("abort", onAbort);
  };
  const fail = (error: Error): void => {
    if (settled) {
      return; // A lost connection is told by `closed`; ssh2 may say "error" several times on the way.
    }
    settle();
    early = error;
    report?.(error);
    socket.destroy();
  };
  const onAbort = (): void =>
    fail(options.signal.reason instanceof Error ? options.signal.reason : new Error("aborted"));
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      open = false;
      fail(new Error("The connection was closed"));
      resolve();
    });
  });
  client.on("error", fail);
  const destroy = (): void => {
    socket.destroy();
  };
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    client.connect({ ...config, sock: socket, readyTimeout: options.timeoutMs });
  } catch (error) {
    fail(error instanceof Error ? error : new Error(String(error)));
  }
  if (options.signal.aborted) {
    onAbort();
  }
  return {
    client,
    connection: {
      client,
      closed,
      isOpen: () => open && !socket.destroyed && socket.writable,
      end: () => endGently(client, socket),
    },
    onFailure: (callback) => {
      report = callback;
      if (early !== undefined) {
        callback(early);
      }
    },
    settle,
    destroy,
  };
}

function endGently(client: Client, socket: Socket): void {
  client.end();
  const timer = setTimeout(() => socket.destroy(), 1_000);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}

type AuthHandler = Extract<ConnectConfig["authHandler"], (...args: never[]) => unknown>;

/**
 * A key is offered once. A password is offered by `password`, and by `keyboard-interactive` only where the server does not do the
 * former: a wrong password must not count as two attempts.
 */
function authentication(target: ShellTarget, failed: (failure: unknown) => void): AuthHandler {
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

function hostKeyChanged(target: ShellTarget, cause: Error): ShellFailure {
  return new ShellFailure(
    "host_key_changed",
    `${where(target)} presents another host key than the confirmed one. No credential was sent.`,
    { cause },
  );
}

function credentialUnreadable(failure: unknown): ShellFailure {
  if (failure instanceof ShellFailure) {
    return failure;
  }
  return new ShellFailure("authentication", "The credential of this server could not be opened.", {
    cause: failure,
  });
}

function explain(
  address: { host: string; port: number },
  error: Error & { level?: string; code?: unknown },
): ShellFailure {
  if (error instanceof ShellFailure) {
    return error;
  }
  const [reason, sentence] = classify(error);
  return new ShellFailure(reason, `${where(address)} ${sentence}`, { cause: error });
}

function classify(error: Error & { level?: string; code?: unknown }): [ShellFailureReason, string] {
  if (error.level === "client-authentication" || /authentication failures/i.test(error.message)) {
    return ["authentication", "refused the credential."];
  }
  if (/no matching host key/i.test(error.message)) {
    return ["host_key_changed", "no longer has a host key of the confirmed type. No credential was sent."];
  }
  if (error.level === "client-timeout") {
    return ["unreachable", "did not answer in time."];
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

function where(address: { host: string; port: number }): string {
  return `The server at ${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}
