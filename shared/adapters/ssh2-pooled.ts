/**
 * One connection with its channels counted, and the limit of them found: sshd answers "open failed" above its MaxSessions. With other
 * channels open the limit is lowered to their number. With none open the refusal may be about those that ended a moment ago, for sshd
 * frees a session a moment after it has said that the channel is closed; then it is asked again for a while.
 */
import type { Connection } from "./ssh2-connection.ts";

/** A limit that was lowered rises by one after this many times its number of commands. A wrong guess costs one round trip. */
const commandsUntilRaised = 8;

/** A connection whose sessions are over and that refuses a new one is asked again after this, for so long. */
const refusedPauseMs = 20;
const refusedPatienceMs = 2_000;

export class Pooled {
  readonly connection: Connection;
  readonly revision: string;
  readonly #mostChannels: number;
  readonly #nowMs: () => number;
  /** Channels that are open or being opened. */
  open = 0;
  /** Of these, those that the server does not let go of. */
  stuck = 0;
  retired = false;
  #limit: number;
  #sinceRefused = 0;
  #servedAtMs: number | undefined;
  #pausedUntilMs = 0;

  constructor(connection: Connection, revision: string, mostChannels: number, nowMs: () => number) {
    this.connection = connection;
    this.revision = revision;
    this.#mostChannels = mostChannels;
    this.#limit = mostChannels;
    this.#nowMs = nowMs;
  }

  isFull(): boolean {
    return this.open >= this.#limit;
  }

  /** Milliseconds until a channel may be opened. */
  pauseMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#nowMs());
  }

  /** A channel that was there is closed on both sides. */
  served(): void {
    this.#servedAtMs = this.#nowMs();
    this.released();
  }

  released(): void {
    this.open--;
    this.#sinceRefused++;
    if (this.#limit < this.#mostChannels && this.#sinceRefused >= this.#limit * commandsUntilRaised) {
      this.#limit++;
      this.#sinceRefused = 0;
    }
  }

  /** True: it goes on refusing with nothing open, and is of no use. */
  refused(): boolean {
    this.open--;
    this.#sinceRefused = 0;
    this.#limit = Math.max(1, this.open);
    if (this.open > 0) return false;
    const nowMs = this.#nowMs();
    if (this.#servedAtMs === undefined || nowMs - this.#servedAtMs >= refusedPatienceMs) return true;
    this.#pausedUntilMs = nowMs + refusedPauseMs;
    return false;
  }
}
