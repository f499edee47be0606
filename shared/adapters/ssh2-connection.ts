/**
 * One authenticated SSH connection: TCP, handshake with the pinned host key, authentication; or the reason why there is none.
 * The credential is asked for only after the host key was verified, so a changed key can never see one. Each failure becomes a
 * `ShellFailure` with a sentence for a person. Rejected: ssh2's own socket, which no composition root could guard.
 */
import { connect as openTcp, type Socket } from "node:net";
import ssh2, { type Client, type ConnectConfig } from "ssh2";
import { type HostKey, ShellFailure, type ShellTarget } from "../ports/shell.ts";
import { authentication } from "./ssh2-authentication.ts";
import { credentialUnreadable, explain, hostKeyChanged, where } from "./ssh2-connect-failure.ts";
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

const openTcpSocket: OpenSocket = ({ host, port }) =>
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
