/** What a project is made of, as the contract validates it and the deploy module reads it (decisions.md section 3). */

/** A git repository at a git host. `cloneUrl` is for hosts other than the default one. */
export interface GitSource {
  kind: "git";
  provider: "git_host";
  owner: string;
  repo: string;
  branch?: string | undefined;
  cloneUrl?: string | undefined;
}

/** One kind for now; uploads and images join it as kinds of their own. */
export type ProjectSource = GitSource;

/** All optional: what is not given is detected. The three commands are code by design. */
export interface BuildSettings {
  installCommand?: string | undefined;
  buildCommand?: string | undefined;
  startCommand?: string | undefined;
  outputDirectory?: string | undefined;
  /** The port on which the app listens inside its container. */
  port?: number | undefined;
}

export interface HealthCheck {
  path?: string | undefined;
  port?: number | undefined;
  timeoutSeconds?: number | undefined;
}

export interface Resources {
  cpus?: number | undefined;
  memoryMB?: number | undefined;
}
