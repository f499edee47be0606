/** Time as an argument, so that tests use a manual clock and never sleep. */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
