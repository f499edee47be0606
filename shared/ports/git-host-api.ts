/**
 * What the platform does at a git host beside fetching: one webhook a project, and a status beside a commit. In words of
 * ours; how a host wants it said is the adapter's business.
 */
import type { CommitState } from "../domain/git-connection.ts";

export interface GitHostApi {
  /**
   * Makes the webhook be there once, exactly as wanted, and answers its id. `knownId`: as it was answered before; one
   * that is gone, or was never told, is found by the path and query of its URL.
   */
  putHook(repository: ApiRepository, hook: WantedHook): Promise<string>;
  /** One that is gone already is fine. */
  removeHook(repository: ApiRepository, id: string): Promise<void>;
  setStatus(repository: ApiRepository, status: CommitStatus): Promise<void>;
}

export interface ApiRepository {
  /** In the API of its host, as `apiRepositoryUrl` makes it. */
  url: string;
  token: string;
}

export interface WantedHook {
  knownId: string | null;
  url: string;
  secret: string;
}

export interface CommitStatus {
  commitSha: string;
  state: CommitState;
  /** One a project: a later status of the same commit and context replaces the earlier one. */
  context: string;
  /** At most 140 characters; whoever sees the repository reads it. */
  description: string;
  targetUrl: string;
}

export type GitHostApiFailureKind =
  | "denied" // the token, its rights, or the repository: a person has to do something
  | "invalid" // the host does not take this hook or commit
  | "away"; // later it may well go

/** `message` is fit for a person, says what to do, and holds nothing that came from the host. */
export class GitHostApiFailure extends Error {
  readonly kind: GitHostApiFailureKind;
  /** How long the host wants not to be asked; 0: it did not say. */
  readonly retryAfterMs: number;

  constructor(
    kind: GitHostApiFailureKind,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "GitHostApiFailure";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}
