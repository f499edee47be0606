/**
 * Counts what one source or one credential may do in a window of time. Exact: of `limit` + 1 takes in one window the
 * last is refused, however many come at once. Adapters: memory (one process); several processes will need one counter.
 */
export interface LimitRule {
  limit: number;
  windowMs: number;
}

export interface LimitAnswer {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window ends and the count starts again. */
  resetMs: number;
}

export interface Limiter {
  take(key: string, rule: LimitRule): Promise<LimitAnswer>;
}
