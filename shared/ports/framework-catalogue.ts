/**
 * What is known of web frameworks, as data: how one is recognised, how it is built, where its output lies. Which of
 * them need a server of their own is the deploy module's knowledge, not the catalogue's.
 */
export interface FrameworkSign {
  /** A file in the root directory. */
  path?: string | undefined;
  /** A regular expression over that file's text. */
  matchContent?: string | undefined;
  /** A package among the dependencies. */
  matchPackage?: string | undefined;
}

export interface KnownFramework {
  slug: string;
  name: string;
  every: readonly FrameworkSign[];
  some: readonly FrameworkSign[];
  /** Slugs that this one makes void when both are recognised. */
  supersedes: readonly string[];
  buildCommand: string | null;
  outputDirectory: string | null;
}

export interface FrameworkCatalogue {
  all(): Promise<readonly KnownFramework[]>;
}
