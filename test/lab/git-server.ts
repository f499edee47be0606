/**
 * The git host of a run: git over HTTP by git's own `http-backend`, on the lab's network. It serves any commit by its
 * SHA, as the large hosts do, and can be frozen or switched off like the real ones. Commits are written with
 * `git fast-import`, one call each, so that a test's history needs no clone.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { docker, tryDocker } from "./docker.ts";
import { findFreePort } from "./free-port.ts";

export interface GitServerDescription {
  name: string;
  /** Host name on the lab's network. */
  alias: string;
  /** Of the same repositories on 127.0.0.1, for code that runs on this machine. */
  localPort: number;
  /** Password of repositories whose owner is `private`; the user is `git` or `x-access-token`. */
  token: string;
}

export interface GitCommit {
  /** Default `main`; the first commit of a branch starts it. */
  branch?: string;
  /** Content by path, on top of what the branch holds; null deletes. */
  files: Readonly<Record<string, string | Uint8Array | null>>;
  /** Paths of `files` that get the executable bit. */
  executable?: readonly string[];
  message?: string;
  /** Start a new branch at this commit instead of empty. */
  from?: string;
}

export interface LabGitServer extends GitServerDescription {
  /** As managed servers see it. */
  url(owner: string, repository: string): string;
  /** As this machine sees it. */
  localUrl(owner: string, repository: string): string;
  createRepository(owner: string, repository: string): Promise<void>;
  /** Answers the SHA. */
  commit(owner: string, repository: string, commit: GitCommit): Promise<string>;
  /** The SHA a branch points to; undefined when there is no such branch. */
  head(owner: string, repository: string, branch?: string): Promise<string | undefined>;
  /** Runs git inside a repository, for what has no function here: tags, force-pushes, deleting a branch. */
  git(owner: string, repository: string, args: readonly string[]): Promise<string>;
  /** Requests for this repository get no answer until the function that it answers was called; all others do. */
  silence(owner: string, repository: string): Promise<() => Promise<void>>;
  /** Connections are taken and nothing is answered: for a git host that a test has for itself. */
  hang(): Promise<void>;
  resume(): Promise<void>;
  /** Connections are refused. */
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

export interface StartGitServer {
  name: string;
  alias: string;
  network: string;
  image: string;
  labels: readonly string[];
}

const port = 8080;
const readyDeadlineMs = 20_000;

/** Whoever opens a pipe to read it waits for a writer. */
const silenceScript = `set -e
cd "$1"; mv HEAD HEAD.kept; mkfifo -m 0644 HEAD`;
const endSilenceScript = `set -e
cd "$1"; mv HEAD HEAD.silent; mv HEAD.kept HEAD
timeout 1 sh -c ': >HEAD.silent' || true
rm HEAD.silent`;

export async function startGitServer(options: StartGitServer): Promise<LabGitServer> {
  const { name, alias } = options;
  const localPort = await findFreePort();
  const network = ["--network", options.network, "--network-alias", alias];
  const publish = ["-p", `127.0.0.1:${localPort}:${port}`];
  await docker([
    "run",
    "-d",
    "--name",
    name,
    "--hostname",
    name,
    ...options.labels,
    ...network,
    ...publish,
    options.image,
  ]);
  const token = randomBytes(20).toString("hex");
  const users = `git:${token}\nx-access-token:${token}\n`;
  await docker(["exec", "-i", name, "sh", "-c", "cat > /etc/lighttpd/lab.users"], { input: users });
  const server = attachGitServer({ name, alias, localPort, token });
  await waitUntilItAnswers(localPort);
  return server;
}

export function attachGitServer(description: GitServerDescription): LabGitServer {
  const { name, alias, localPort } = description;
  const act = async (...args: string[]) => {
    await docker(args);
  };
  const git = (owner: string, repository: string, args: readonly string[]) =>
    docker(["exec", name, "git", "-C", pathOf(owner, repository), ...args]);
  const head = async (owner: string, repository: string, branch = "main") => {
    const ref = ["rev-parse", "-q", "--verify", `refs/heads/${branch}`];
    const answer = await tryDocker(["exec", name, "git", "-C", pathOf(owner, repository), ...ref]);
    return answer.code === 0 ? answer.stdout.trim() : undefined;
  };
  return {
    ...description,
    url: (owner, repository) => `http://${alias}:${port}/${owner}/${repository}.git`,
    localUrl: (owner, repository) => `http://127.0.0.1:${localPort}/${owner}/${repository}.git`,
    createRepository: (owner, repository) => createRepository(name, pathOf(owner, repository)),
    commit: async (owner, repository, commit) => {
      const parent = (await head(owner, repository, commit.branch)) ?? commit.from;
      const input = formatCommit(commit, parent);
      const program = ["git", "-C", pathOf(owner, repository), "fast-import", "--quiet", "--force"];
      return docker(["exec", "-i", name, ...program], { input });
    },
    head,
    git,
    silence: async (owner, repository) => {
      const path = pathOf(owner, repository);
      const run = (script: string) => act("exec", name, "sh", "-c", script, "silence", path);
      await run(silenceScript);
      return () => run(endSilenceScript);
    },
    hang: () => act("pause", name),
    resume: () => act("unpause", name),
    stop: () => act("stop", "-t", "1", name),
    start: () => act("start", name).then(() => waitUntilItAnswers(localPort)),
    remove: () => act("rm", "-f", "-v", name),
  };
}

function pathOf(owner: string, repository: string): string {
  return `/srv/git/${owner}/${repository}.git`;
}

async function createRepository(name: string, path: string): Promise<void> {
  const script = `set -e
git init -q --bare -b main "$1"
git -C "$1" config uploadpack.allowAnySHA1InWant true
git -C "$1" config uploadpack.allowFilter true
chown -R www-data: "$1" || true`;
  await docker(["exec", name, "sh", "-c", script, "create", path]);
}

/** The stream that `git fast-import` reads; its last command prints the new SHA. */
function formatCommit(commit: GitCommit, parent: string | undefined): Buffer {
  const seconds = Math.floor(Date.now() / 1_000);
  const message = Buffer.from(commit.message ?? "Change files");
  const parts: (string | Uint8Array)[] = [
    `commit refs/heads/${commit.branch ?? "main"}\nmark :1\n`,
    `committer Lab <lab@example.test> ${seconds} +0000\ndata ${message.length}\n`,
    message,
    "\n",
  ];
  if (parent !== undefined) parts.push(`from ${parent}\n`);
  for (const [path, content] of Object.entries(commit.files)) {
    if (content === null) {
      parts.push(`D ${path}\n`);
      continue;
    }
    const bytes = Buffer.from(content);
    parts.push(
      `M ${commit.executable?.includes(path) ? "100755" : "100644"} inline ${path}\ndata ${bytes.length}\n`,
      bytes,
      "\n",
    );
  }
  parts.push("\nget-mark :1\n");
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

async function waitUntilItAnswers(localPort: number): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${localPort}/`, { signal: AbortSignal.timeout(1_000) });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error("The lab's git server does not answer.", { cause: error });
      await sleep(50);
    }
  }
}
