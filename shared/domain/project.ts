/** What a project is made of, as the contract validates it and the deploy module reads it (decisions.md section 3). */
import type { BuildStrategy } from "./deployment.ts";

export const projectKinds = ["app", "compose", "monorepo"] as const;
/** An app is one container; the other two are made of services. */
export type ProjectKind = (typeof projectKinds)[number];

export const projectLocations = ["local", "cloud"] as const;
/** Where a project is deployed: by this instance, or by the cloud that it was promoted to. */
export type ProjectLocation = (typeof projectLocations)[number];

/** Why a project of services is not deployed: the code of the refusal, and the reason of a skipped push. */
export const servicesNotDeployable = "services_not_deployable";

/** A git repository at a git host. `cloneUrl` is for hosts other than the default one. */
export interface GitSource {
  kind: "git";
  provider: "git_host";
  owner: string;
  repo: string;
  branch?: string | undefined;
  cloneUrl?: string | undefined;
  /** Credential for a private repository. */
  connectionId?: string | undefined;
}

/** A folder that people upload: what is built came with the deployment. */
export interface UploadSource {
  kind: "upload";
}

/** Images join it as a kind of their own. */
export type ProjectSource = GitSource | UploadSource;

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

/** How the image of a service is made: paths inside the repository. */
export interface ServiceBuild {
  context: string;
  dockerfile?: string | undefined;
}

/** What a person may ask for one deployment beside the project's settings. */
export interface AskedSettings {
  buildStrategy?: BuildStrategy;
  port?: number;
}
