/**
 * One managed server of the lab: how it is reached, what a test may do to it (switch off, freeze, cut the cable), and
 * that nothing of it stays. It is a plain description plus functions, so that vitest can hand it to its workers.
 */
import { randomBytes } from "node:crypto";
import { type CommandResult, docker, tryDocker } from "./docker.ts";
import { findFreePort } from "./free-port.ts";
import { copyStore } from "./image-store.ts";
import type { LabImages } from "./images.ts";
import type { KeyPair } from "./key-pair.ts";
import { serverRunArguments, waitForBoot } from "./server-container.ts";
import { waitForBanner } from "./ssh-banner.ts";

/** Everything needed to reach a lab server from any process of this machine. */
export interface ServerDescription {
  /** Container name; also its host name on the lab's network, where other servers find it. */
  name: string;
  host: "127.0.0.1";
  /** Of sshd. */
  port: number;
  /** `root`; the users `admin` (password-less sudo) and `plain` (none) take the same key. */
  user: "root";
  /** OpenSSH form. */
  privateKey: string;
  publicKey: string;
  /** Of the user `admin`, for tests of signing in with a password. */
  password: string;
  /** `ssh-ed25519 <base64>`, read inside the container. */
  hostKey: string;
  /** Ports 80 and 443 of the server on this machine. */
  httpPort: number;
  httpsPort: number;
}

export interface ExecOptions {
  input?: string | Uint8Array;
  user?: string;
  env?: Readonly<Record<string, string>>;
  deadlineMs?: number;
}

export interface LabServer extends ServerDescription {
  /** Runs a command inside by `docker exec`: the oracle, not the product's SSH. Answers whatever exit status it has. */
  exec(argv: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  /** The same, but a failure throws; answers stdout without the last line break. */
  read(argv: readonly string[], options?: ExecOptions): Promise<string>;
  /** Orderly shutdown. */
  stop(): Promise<void>;
  /** With disk, keys and ports as they were. What brings a server back resolves when sshd answers again. */
  start(): Promise<void>;
  reboot(): Promise<void>;
  /** As if the power failed: nothing gets to finish. */
  powerOff(): Promise<void>;
  /** Freezes every process of the server itself; connections stay open and silent. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Pulls the network cable: open connections fall silent, new ones get no answer. The oracle still works. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Removes the container and its volume. */
  remove(): Promise<void>;
}

export interface StartServer {
  name: string;
  kind: "bare" | "docker";
  labels: readonly string[];
  network: string;
  key: KeyPair;
  images: LabImages;
  /** Prepared volume with product images; absent = an empty engine. */
  store?: string;
}

const stopSeconds = 20;
const portAttempts = 3;

/** One that does not come up is made once more: on a crowded machine the engine now and then loses a port or a boot. */
export async function startServer(options: StartServer): Promise<LabServer> {
  try {
    return await startOnce(options);
  } catch (error) {
    process.stderr.write(`lab: ${options.name} did not come up and is made again: ${String(error)}\n`);
    return await startOnce(options);
  }
}

async function startOnce(options: StartServer): Promise<LabServer> {
  const volume = volumeOf(options.name);
  const image = options.kind === "bare" ? options.images.bareServer : options.images.dockerServer;
  try {
    if (options.store === undefined) await docker(["volume", "create", ...options.labels, volume]);
    else await copyStore(options.store, volume, options.labels, image);
    const ports = await runContainer(options, image, volume);
    const password = randomBytes(12).toString("base64url");
    await admitUsers(options.name, options.key.publicKey, password);
    await waitUntilReady(options.name, ports[22]);
    const keyFile = await docker(["exec", options.name, "cat", "/etc/ssh/ssh_host_ed25519_key.pub"]);
    return attachServer({
      name: options.name,
      host: "127.0.0.1",
      port: ports[22],
      user: "root",
      ...options.key,
      password,
      hostKey: keyFile.split(" ").slice(0, 2).join(" "),
      httpPort: ports[80],
      httpsPort: ports[443],
    });
  } catch (error) {
    await removeServer(options.name);
    throw error;
  }
}

/** A server that another process of this run has started. */
export function attachServer(description: ServerDescription): LabServer {
  const { name, port } = description;
  const exec = (argv: readonly string[], options: ExecOptions = {}) =>
    tryDocker(execArguments(name, argv, options), transport(options));
  return {
    ...description,
    exec,
    read: (argv, options = {}) => docker(execArguments(name, argv, options), transport(options)),
    stop: () => act("stop", "-t", String(stopSeconds), name),
    start: () => act("start", name).then(() => waitUntilReady(name, port)),
    reboot: () => act("restart", "-t", String(stopSeconds), name).then(() => waitUntilReady(name, port)),
    powerOff: () => act("kill", name),
    pause: () => act("pause", name),
    unpause: () => act("unpause", name).then(() => waitForBanner(port)),
    cut: () => docker(["exec", name, "ip", "link", "set", "eth0", "down"]).then(() => undefined),
    mend: () => mend(name).then(() => waitForBanner(port)),
    remove: () => removeServer(name),
  };
}

async function act(...args: string[]): Promise<void> {
  await docker(args, { deadlineMs: 60_000 });
}

async function waitUntilReady(name: string, port: number): Promise<void> {
  await waitForBoot(name);
  await waitForBanner(port);
}

/** A port that was free a moment ago may be taken by now; docker says so, and other ports are tried. */
async function runContainer(
  options: StartServer,
  image: string,
  volume: string,
): Promise<Record<22 | 80 | 443, number>> {
  const { name, labels, network } = options;
  for (let attempt = 1; ; attempt += 1) {
    const ports = { 22: await findFreePort(), 80: await findFreePort(), 443: await findFreePort() };
    const args = serverRunArguments({ name, labels, image, volume, network, ports });
    const result = await tryDocker(args);
    if (result.code === 0) return ports;
    if (attempt === portAttempts || !/already (allocated|in use)/.test(result.stderr))
      throw new Error(result.stderr);
    await docker(["rm", "-f", name]);
  }
}

async function admitUsers(name: string, publicKey: string, password: string): Promise<void> {
  const script = `set -e
umask 077
printf 'admin:%s\\n' "$2" | chpasswd
for user in root admin plain; do
  home=$(getent passwd "$user" | cut -d: -f6)
  mkdir -p "$home/.ssh"
  printf '%s\\n' "$1" > "$home/.ssh/authorized_keys"
  chown -R "$user:" "$home/.ssh"
done`;
  await docker(["exec", name, "sh", "-c", script, "admit", publicKey, password]);
}

/** Bringing the link down has dropped the routes; the default one is the network's gateway. */
async function mend(name: string): Promise<void> {
  const gateway = await docker([
    "inspect",
    "--format",
    "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}",
    name,
  ]);
  await docker(["exec", name, "ip", "link", "set", "eth0", "up"]);
  await docker(["exec", name, "ip", "route", "replace", "default", "via", gateway]);
}

async function removeServer(name: string): Promise<void> {
  await tryDocker(["rm", "-f", "-v", name]);
  await tryDocker(["volume", "rm", "-f", volumeOf(name)]);
}

function volumeOf(name: string): string {
  return `${name}-docker`;
}

function execArguments(name: string, argv: readonly string[], options: ExecOptions): string[] {
  const user = options.user === undefined ? [] : ["-u", options.user];
  const env = Object.entries(options.env ?? {}).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
  const stdin = options.input === undefined ? [] : ["-i"];
  return ["exec", ...stdin, ...user, ...env, name, ...argv];
}

function transport(options: ExecOptions): { input?: string | Uint8Array; deadlineMs?: number } {
  return {
    ...(options.input === undefined ? {} : { input: options.input }),
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
  };
}
