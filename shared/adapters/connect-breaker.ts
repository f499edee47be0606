/**
 * When the next connect to a server may be tried. After a failed one there is a pause that doubles, with jitter, so that many callers do
 * not knock together; after several in a row (breaker) everyone is refused at once for a while with the last reason, then one more try
 * decides. A changed row (address, key, credential) starts afresh: what failed was the old one.
 */
import type { ShellFailure } from "../ports/shell.ts";

export interface BreakerOptions {
  /** The first pause after a failed connect. */
  reconnectBaseMs: number;
  failuresUntilOpen: number;
  breakerOpenMs: number;
  nowMs: () => number;
  /** 0 ≤ x < 1 */
  random: () => number;
}

export class ConnectBreaker {
  readonly #options: BreakerOptions;
  #revision = "";
  #failures = 0;
  #notBeforeMs = 0;
  #reason: ShellFailure | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Refuse with this reason, or wait so long, or (0) go ahead. */
  ask(revision: string): { refusal: ShellFailure | undefined; pauseMs: number } {
    if (this.#revision !== revision) {
      this.#revision = revision;
      this.succeeded();
    }
    const pauseMs = Math.max(0, this.#notBeforeMs - this.#options.nowMs());
    const open = pauseMs > 0 && this.#failures >= this.#options.failuresUntilOpen;
    return { refusal: open ? this.#reason : undefined, pauseMs };
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBeforeMs = 0;
    this.#reason = undefined;
  }

  failed(revision: string, reason: ShellFailure): void {
    if (this.#revision !== revision) {
      return;
    }
    const { reconnectBaseMs, failuresUntilOpen, breakerOpenMs, nowMs, random } = this.#options;
    this.#failures++;
    const pauseMs =
      this.#failures >= failuresUntilOpen ? breakerOpenMs : reconnectBaseMs * 2 ** (this.#failures - 1);
    this.#notBeforeMs = nowMs() + pauseMs * (0.75 + random() / 2);
    this.#reason = reason;
  }
}
