/**
 * Whether this machine has a container engine for the lab, and how it gets one. An engine that answers is used as it is.
 * Otherwise, as root on Debian, the distribution's packages are installed and dockerd is started in the background.
 * What we started is remembered in a pid file, so that a run can stop it again; an engine that was there is never stopped.
 */
import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installPackages } from "./apt.ts";
import { tryDocker } from "./docker.ts";

export type EngineAnswer = { usable: true } | { usable: false; reason: string };

const engineLogPath = join(tmpdir(), "slipway-lab-dockerd.log");
const pidFilePath = join(tmpdir(), "slipway-lab-dockerd.pid");
const packages = ["docker.io", "iptables", "debootstrap", "ca-certificates"];
const startDeadlineMs = 45_000;
const stopDeadlineMs = 30_000;
let startedHere: number | undefined;

export async function ensureEngine(say: (line: string) => void = () => undefined): Promise<EngineAnswer> {
  if (await engineAnswers()) return { usable: true };
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    return unusable("no container engine answers, and only root on Linux can start one");
  }
  const missing = await installEngine(say);
  if (missing !== undefined) return unusable(missing);
  if (await engineAnswers()) return rememberPid(readPid("/var/run/docker.pid"));

  if (!liveProcess("/var/run/docker.pid", "dockerd")) {
    removeStalePidFiles();
    say("starting dockerd");
    const log = openSync(engineLogPath, "a");
    const child = spawn("dockerd", [], { detached: true, stdio: ["ignore", log, log] });
    child.on("error", (error) => say(`dockerd: ${error.message}`));
    child.unref();
    rememberPid(child.pid);
  }
  return (await answersWithin(startDeadlineMs))
    ? { usable: true }
    : unusable(`dockerd did not answer within ${startDeadlineMs / 1_000} s; its log is ${engineLogPath}`);
}

/** Ends the engine if this very process started it and nothing runs on it: another run may have begun to use it meanwhile. */
export async function stopEngineOfThisRun(): Promise<void> {
  if (startedHere === undefined || startedHere !== readPid(pidFilePath)) return;
  const running = await tryDocker(["ps", "--quiet"], { deadlineMs: 10_000 });
  if (running.code === 0 && running.stdout.trim() === "") await stopStartedEngine();
}

/** Ends the engine that some run's `ensureEngine` started, and nothing else. Answers whether there was one. */
export async function stopStartedEngine(): Promise<boolean> {
  const pid = readPid(pidFilePath);
  rmSync(pidFilePath, { force: true });
  if (pid === undefined || commandName(pid) !== "dockerd") return false;
  process.kill(pid, "SIGTERM");
  const deadline = Date.now() + stopDeadlineMs;
  while (commandName(pid) === "dockerd") {
    if (Date.now() > deadline) {
      process.kill(pid, "SIGKILL");
      break;
    }
    await sleep(100);
  }
  return true;
}

async function engineAnswers(): Promise<boolean> {
  const result = await tryDocker(["version", "--format", "{{.Server.Version}}"], { deadlineMs: 10_000 });
  return result.code === 0;
}

async function answersWithin(limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (Date.now() < deadline) {
    if (await engineAnswers()) return true;
    await sleep(250);
  }
  return false;
}

/** Answers why it could not be installed, or undefined when everything needed is there. */
async function installEngine(say: (line: string) => void): Promise<string | undefined> {
  const needed = ["/usr/sbin/dockerd", "/usr/sbin/iptables"];
  if (needed.every((path) => existsSync(path))) return undefined;
  return installPackages(packages, say);
}

/**
 * A machine that was switched off hard leaves pid files behind. When another process has the number by now, dockerd
 * takes it for a running engine and refuses to start, or waits for a containerd that is not there.
 */
function removeStalePidFiles(): void {
  const files = [
    { path: "/var/run/docker.pid", name: "dockerd" },
    { path: "/var/run/docker/containerd/containerd.pid", name: "containerd" },
  ];
  for (const { path, name } of files) {
    if (!liveProcess(path, name)) rmSync(path, { force: true });
  }
}

function liveProcess(pidFile: string, name: string): boolean {
  const pid = readPid(pidFile);
  return pid !== undefined && commandName(pid) === name;
}

function rememberPid(pid: number | undefined): EngineAnswer {
  startedHere = pid;
  if (pid !== undefined) writeFileSync(pidFilePath, `${pid}\n`, { mode: 0o600 });
  return { usable: true };
}

function readPid(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

function commandName(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function unusable(reason: string): EngineAnswer {
  return { usable: false, reason };
}
