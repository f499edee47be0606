/**
 * Turns what was detected into what is built: a Dockerfile and its context. Pure; tests assert the text. Commands and
 * paths of users stand only inside JSON arrays, which the builder neither expands nor hands to a second parser, so
 * that no `$`, `--flag`, backslash or heredoc of theirs means anything to it.
 */
import type { BuildSettings } from "../../../shared/domain/project.ts";
import type { Detected, NodeBuild } from "./detect.ts";

export interface BuildPlan {
  /** What was found, for the log. */
  title: string;
  /** Folder that is sent to the builder, relative to the root directory of the project. */
  context: string;
  dockerfile: { kind: "own"; path: string } | { kind: "generated"; text: string };
  /** Where the app listens, when the plan decides it; else the image and the settings say it. */
  port: number | null;
  /** Whether the container gets a small init as process 1; images that users made bring their own habits. */
  init: boolean;
}

export interface PlanOptions {
  build: BuildSettings;
  /** The builder knows `RUN --mount`. */
  mounts: boolean;
  /** Digest of the environment, or null without one: a build that read other values is not taken from the cache. */
  environment: string | null;
  /** Where volumes are mounted: an image of ours runs without being root, and a new volume takes its owner over from there. */
  volumePaths: readonly string[];
  /** Among strangers: the project whose layers alone are taken from the cache. null: everybody's. */
  cacheOf: string | null;
}

const nodeImage = "node:24-bookworm-slim";
const siteImage = "caddy:2";
const sitePort = 8080;

export function planBuild(detected: Detected, options: PlanOptions): BuildPlan {
  const generated = (lines: readonly string[]) => dockerfileOf(lines, options.cacheOf);
  switch (detected.kind) {
    case "dockerfile":
      return {
        title: `Dockerfile of the repository`,
        context: ".",
        dockerfile: { kind: "own", path: detected.dockerfile },
        port: null,
        init: false,
      };
    case "node":
      return {
        title: `Node application (${describe(detected)})`,
        context: ".",
        dockerfile: generated(nodeServer(detected, options)),
        port: null,
        init: true,
      };
    case "site":
      return {
        title: `Static site built with Node (${describe(detected)})`,
        context: ".",
        dockerfile: generated(nodeSite(detected, options)),
        port: options.build.port ?? sitePort,
        init: true,
      };
    case "static":
      return {
        title: "Static files",
        context: detected.directory,
        dockerfile: generated([
          `FROM ${siteImage}`,
          copy(["."], "/srv/"),
          ...serve(options.build.port ?? sitePort, false),
        ]),
        port: options.build.port ?? sitePort,
        init: true,
      };
  }
}

function describe(build: NodeBuild): string {
  return [build.framework, build.packageManager.name].filter((part) => part !== null).join(", ");
}

/** A label right after each `FROM` is a part of every layer above it, for the builder's cache. */
function dockerfileOf(lines: readonly string[], cacheOf: string | null): { kind: "generated"; text: string } {
  const apart = (line: string) =>
    cacheOf !== null && line.startsWith("FROM ") ? [line, `LABEL slipway.cache=${cacheOf}`] : [line];
  return { kind: "generated", text: `${lines.flatMap(apart).join("\n")}\n` };
}

function nodeServer(detected: NodeBuild & { startCommand: string }, options: PlanOptions): string[] {
  return [
    `FROM ${nodeImage}`,
    ...volumeSteps(options.volumePaths),
    ...nodeSteps(detected, options),
    "ENV HOST=0.0.0.0",
    shell("CMD", detected.startCommand),
  ];
}

function volumeSteps(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const make = 'mkdir -p -- "$@" && chown node:node -- "$@"';
  return [`RUN ${JSON.stringify(["/bin/sh", "-c", make, "volumes", ...paths])}`];
}

function nodeSite(
  detected: NodeBuild & { outputDirectory: string; singlePage: boolean },
  options: PlanOptions,
): string[] {
  return [
    `FROM ${nodeImage} AS build`,
    ...nodeSteps(detected, options),
    `RUN ${JSON.stringify(["/bin/sh", "-c", collectOutput, "collect", detected.outputDirectory])}`,
    `FROM ${siteImage}`,
    copy(["/tmp/site/"], "/srv/", "--from=build "),
    ...serve(options.build.port ?? sitePort, detected.singlePage),
  ];
}

const collectOutput = `[ -d "/app/$1" ] || { echo "The build left no directory $1" >&2; exit 1; }; cp -R "/app/$1/." /tmp/site`;

/** Least changing first: tool, manifests and packages, then the source. Packages are installed with their dev part, since builds need it. */
function nodeSteps(build: NodeBuild, options: PlanOptions): string[] {
  const { packageManager, installCommand, manifests, buildCommand } = build;
  const mount = options.mounts
    ? `--mount=type=cache,target=/home/node/${packageManager.cache},uid=1000,gid=1000 `
    : "";
  const secret = options.mounts ? "--mount=type=secret,id=slipway-env,target=/run/slipway-env,uid=1000 " : "";
  const source = copy(["."], "./", "--chown=node:node ");
  const install = installCommand === null ? [] : [shell("RUN", installCommand, mount)];
  return [
    ...(packageManager.tool === null ? [] : [shell("RUN", `npm install --global ${packageManager.tool}`)]),
    `RUN mkdir -p /app /home/node/${packageManager.cache} && chown -R node:node /app /home/node`,
    "WORKDIR /app",
    "USER node",
    "ENV PATH=/app/node_modules/.bin:$PATH",
    ...(manifests === null
      ? [source, ...install]
      : [copy(manifests, "./", "--chown=node:node "), ...install, source]),
    "ENV NODE_ENV=production",
    ...(buildCommand === null ? [] : buildStep(buildCommand, secret, options)),
  ];
}

/** The project's environment is there while it builds, from a file in memory that no layer keeps. */
function buildStep(command: string, secret: string, options: PlanOptions): string[] {
  if (options.environment === null || !options.mounts) return [shell("RUN", command)];
  const read = `set -a; . /run/slipway-env; set +a; eval "$1"`;
  return [
    `ARG SLIPWAY_ENVIRONMENT=${options.environment}`,
    `RUN ${secret}${JSON.stringify(["/bin/sh", "-c", read, "build", command])}`,
  ];
}

function shell(instruction: "RUN" | "CMD", command: string, mount = ""): string {
  return `${instruction} ${mount}${JSON.stringify(["/bin/sh", "-c", command])}`;
}

function copy(from: readonly string[], to: string, flags = ""): string {
  return `COPY ${flags}${JSON.stringify([...from, to])}`;
}

/** Caddy with its configuration on standard input: no file to copy, no step to run, nothing that a shell expands. */
function serve(port: number, singlePage: boolean): string[] {
  const script = `exec caddy run --config - <<'END'\n${JSON.stringify(siteConfiguration(port, singlePage))}\nEND\n`;
  return [
    "ENV XDG_CONFIG_HOME=/tmp XDG_DATA_HOME=/tmp HOME=/tmp",
    "USER 65534:65534",
    "ENTRYPOINT []",
    shell("CMD", script),
  ];
}

function siteConfiguration(port: number, singlePage: boolean): unknown {
  const files = [
    "{http.request.uri.path}",
    "{http.request.uri.path}.html",
    "{http.request.uri.path}/index.html",
  ];
  const page = {
    match: [
      { file: { root: "/srv", try_files: singlePage ? [...files, "/index.html"] : files.slice(0, 2) } },
    ],
    handle: [{ handler: "rewrite", uri: "{http.matchers.file.relative}" }],
  };
  const serveFiles = {
    handle: [
      { handler: "encode", encodings: { gzip: {} } },
      { handler: "file_server", root: "/srv", hide: [".env", ".env.*", ".git*", ".ht*", "Dockerfile"] },
    ],
  };
  return {
    admin: { disabled: true, config: { persist: false } },
    apps: {
      http: {
        servers: {
          site: {
            listen: [`:${port}`],
            automatic_https: { disable: true },
            routes: [page, serveFiles],
          },
        },
      },
    },
  };
}
