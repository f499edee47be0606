/**
 * Remote execution on managed servers. Everything that reaches a server goes through this port: commands are arrays of
 * arguments, quoted in one place (shared/shell/quote.ts); secrets travel by stdin or in a 0600 file, never in argv.
 * Rejected: command strings built by callers, and one client per call (sessions were left behind in peers' products).
 */

/** How to reach a server. The credential is opened only when a connection is really made. */
export interface ShellTarget {
  /** Stable identity of the server; the pool keeps its connections under it. */
  serverId: string;
  host: string;
  port: number;
  user: string;
  /** OpenSSH form, `<type> <base64>`, as a person confirmed it. Any other key is refused before a credential is offered. */
  hostKey: string;
  /** Changes whenever any of the above or the credential changes; the pool then drops its old connections. */
  revision: string;
  credential: () => Promise<ShellCredential>;
}

export type ShellCredential =
  | { kind: "key"; privateKey: string; passphrase?: string }
  | { kind: "password"; password: string };

export interface ShellCommand {
  /** Program and arguments; never a command line. */
  argv: readonly [string, ...string[]];
  /** Added to the remote environment. NOT for secrets: it is visible in the process table of the server. */
  env?: Readonly<Record<string, string>>;
  /** Sent to the command, then closed. This is the way for secrets. */
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Run as root: through `sudo -n` where the user is not root. */
  asRoot?: boolean;
  /** Wall time in milliseconds until the channel is closed and `ShellFailure("deadline")` is thrown. */
  deadlineMs: number;
  signal?: AbortSignal;
  /** Most bytes kept of each of stdout and stderr; more is `ShellFailure("output_limit")`. Default 1 MiB. */
  maxOutputBytes?: number;
}

export interface ShellResult {
  /** Exit status; a command killed by a signal has 128 + n. */
  code: number;
  /** Decoded as UTF-8. */
  stdout: string;
  /** The same, byte for byte. */
  stdoutBytes: Uint8Array;
  stderr: string;
}

/** How a stream ended: the generator's return value. */
export interface ShellStreamEnd {
  code: number;
  /** The last 64 KiB of it. */
  stderr: string;
}

export interface Shell {
  /** Runs to the end and answers whatever exit status it has. Throws `ShellFailure` when the far side could not be asked. */
  run(target: ShellTarget, command: ShellCommand): Promise<ShellResult>;
  /**
   * The same, on the connection for long streams: stdout in chunks as they arrive, and the exit as the generator's return
   * value (`for await` ignores it). Ending the iteration closes the channel. `maxOutputBytes` does not apply.
   */
  stream(target: ShellTarget, command: ShellCommand): AsyncGenerator<Uint8Array, ShellStreamEnd, undefined>;
  /**
   * Writes a file atomically (temporary name beside it, 0600 from the start, then rename) with `mode`; makes parent
   * directories 0700. What a cut connection left incomplete never takes the name. Large content does not delay `run`.
   */
  upload(target: ShellTarget, file: ShellUpload): Promise<void>;
  /** The host key that an address presents, without offering any credential. */
  probeHostKey(address: { host: string; port: number; deadlineMs: number }): Promise<HostKey>;
  /** Closes the connections of one server (its row changed or went away). */
  forget(serverId: string): void;
  /** Counted for metrics. */
  counts(): { connections: number; channels: number };
  close(): Promise<void>;
}

export interface ShellUpload {
  path: string;
  /** Of a stream the length is known before: what was cut off looks like an end to the server, which counts. */
  content: string | Uint8Array | { bytes: number; chunks: AsyncIterable<Uint8Array> };
  mode: number;
  asRoot?: boolean;
  deadlineMs: number;
  signal?: AbortSignal;
}

export interface HostKey {
  /** `<type> <base64>` */
  key: string;
  type: string;
  /** `SHA256:…` as OpenSSH prints it. */
  fingerprint: string;
}

export type ShellFailureReason =
  | "unreachable" // no TCP connection, no SSH, no session on it: nothing was run
  | "host_key_changed" // refused before any credential was offered
  | "authentication" // the server refused the credential
  | "connection_lost" // after it had started: the outcome is unknown
  | "deadline"
  | "aborted"
  | "output_limit"
  | "sudo"; // neither root nor password-less sudo

/** The far side could not be asked, or its answer was lost. `message` is fit for a person and free of secrets. */
export class ShellFailure extends Error {
  readonly reason: ShellFailureReason;
  constructor(reason: ShellFailureReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ShellFailure";
    this.reason = reason;
  }
}
