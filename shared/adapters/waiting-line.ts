/**
 * First come, first served, with a way out: everyone who waits leaves when its signal aborts. One who was served in vain may come back
 * to its old place by its ticket. Rejected: an array of promises (nobody could leave it).
 */
export interface Waiter<Ask, Grant> {
  ask: Ask;
  ticket: number;
  grant(value: Grant): void;
  refuse(reason: Error): void;
}

export class WaitingLine<Ask, Grant> {
  readonly #waiters: Waiter<Ask, Grant>[] = [];
  #nextTicket = 0;

  ticket(): number {
    return this.#nextTicket++;
  }

  first(): Waiter<Ask, Grant> | undefined {
    return this.#waiters[0];
  }

  all(): Waiter<Ask, Grant>[] {
    return [...this.#waiters];
  }

  /** Resolves when granted; rejects when refused, or with the signal's reason. `left` is called when the signal took it out. */
  join(ask: Ask, ticket: number, signal: AbortSignal, left: () => void): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = (): void => {
        signal.removeEventListener("abort", onAbort);
        const index = this.#waiters.indexOf(waiter);
        if (index >= 0) {
          this.#waiters.splice(index, 1);
        }
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
        left();
      };
      const waiter: Waiter<Ask, Grant> = {
        ask,
        ticket,
        grant: (value) => {
          leave();
          resolve(value);
        },
        refuse: (reason) => {
          leave();
          reject(reason);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const behind = this.#waiters.findIndex((other) => other.ticket > ticket);
      this.#waiters.splice(behind === -1 ? this.#waiters.length : behind, 0, waiter);
    });
  }
}
