/** The options that `project create` and `project update` share, and what they mean to the API. */
import { type Command, Option } from "commander";
import { usage } from "./frame/failure.ts";
import { decimal, integer } from "./frame/number-option.ts";

export interface ProjectOptions {
  branch?: string;
  cloneUrl?: string;
  autoDeploy?: boolean;
  root?: string;
  buildStrategy?: "auto" | "dockerfile" | "framework" | "static";
  installCommand?: string;
  buildCommand?: string;
  startCommand?: string;
  outputDirectory?: string;
  port?: number;
  healthPath?: string;
  healthPort?: number;
  healthTimeout?: number;
  updateStrategy?: "rolling" | "recreate";
  cpus?: number;
  memoryMb?: number;
  volume?: string[];
  rollbackWindow?: number;
}

export function buildOptions(command: Command): Command {
  return command
    .option("--branch <branch>", "default: the default branch of the repository")
    .option("--clone-url <url>", "http or https URL to clone from, without credentials")
    .option("--auto-deploy", "deploy on push (the default)")
    .option("--no-auto-deploy", "do not deploy on push")
    .option("--root <path>", "directory of the application inside the repository")
    .addOption(
      new Option("--build-strategy <strategy>", "how to build").choices([
        "auto",
        "dockerfile",
        "framework",
        "static",
      ]),
    )
    .option("--install-command <command>", "installs the dependencies")
    .option("--build-command <command>", "builds the application")
    .option("--start-command <command>", "starts the application")
    .option("--output-directory <path>", "where a static build ends up")
    .option("--port <port>", "port that the application listens on", integer)
    .option("--health-path <path>", "path that answers 2xx when the application is up")
    .option("--health-port <port>", "port of the health check", integer)
    .option("--health-timeout <seconds>", "how long to wait for the first good answer", integer)
    .addOption(
      new Option("--update-strategy <strategy>", "how versions change").choices(["rolling", "recreate"]),
    )
    .option("--cpus <count>", "most CPUs", decimal)
    .option("--memory-mb <megabytes>", "most memory", integer)
    .option(
      "--volume <name:/path>",
      "a volume kept over deployments; may be given again, all of them",
      collect,
    )
    .option("--rollback-window <count>", "how many earlier images are kept", integer);
}

/** Without a default: the API tells absent from empty. */
function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function settingsOf(options: ProjectOptions) {
  const build = defined({
    installCommand: options.installCommand,
    buildCommand: options.buildCommand,
    startCommand: options.startCommand,
    outputDirectory: options.outputDirectory,
    port: options.port,
  });
  const healthCheck = defined({
    path: options.healthPath,
    port: options.healthPort,
    timeoutSeconds: options.healthTimeout,
  });
  const resources = defined({ cpus: options.cpus, memoryMB: options.memoryMb });
  return defined({
    autoDeploy: options.autoDeploy,
    rootDirectory: options.root,
    buildStrategy: options.buildStrategy,
    updateStrategy: options.updateStrategy,
    volumes: options.volume,
    rollbackWindow: options.rollbackWindow,
    build: nonEmpty(build),
    healthCheck: nonEmpty(healthCheck),
    resources: nonEmpty(resources),
  });
}

/** The parts of a source that have an option of their own. */
export function sourceOf(options: ProjectOptions) {
  return defined({ branch: options.branch, cloneUrl: options.cloneUrl });
}

export function parseRepository(value: string): { owner: string; repo: string } {
  const [owner, repo, rest] = value.split("/");
  if (!owner || !repo || rest !== undefined)
    throw usage(`"${value}" is not a repository.`, "Write it as OWNER/REPO.");
  return { owner, repo };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that were not given: the API tells absent from empty. */
function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Defined<T>;
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}
