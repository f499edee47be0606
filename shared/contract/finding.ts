/** What one check of `slipway doctor` found: the form of its `--json`, for scripts. */
export interface Finding {
  /** Stable, snake_case. */
  check: string;
  status: "ok" | "warn" | "fail";
  /** What is the case. */
  message: string;
  /** What to do about it; null where nothing is to be done. */
  hint: string | null;
}

export function ok(check: string, message: string): Finding {
  return { check, status: "ok", message, hint: null };
}

/** Works, but a person should look. */
export function warn(check: string, message: string, hint: string): Finding {
  return { check, status: "warn", message, hint };
}

export function fail(check: string, message: string, hint: string): Finding {
  return { check, status: "fail", message, hint };
}
