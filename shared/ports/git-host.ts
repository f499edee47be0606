/** One question to a git host over HTTP, from the platform. Redirects are answers: a credential never follows one. */
export interface GitHost {
  /** Throws `GitHostFailure` when nothing answers in time. */
  ask(request: GitHostRequest): Promise<{ status: number; contentType: string }>;
}

export interface GitHostRequest {
  url: string;
  credential?: { user: string; password: string };
  deadlineMs: number;
}

/** `message` is fit for a person and free of secrets. */
export class GitHostFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "GitHostFailure";
  }
}
