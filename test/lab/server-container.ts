/**
 * The container that stands for a managed server: the arguments it is started with, and when it counts as booted.
 * `--privileged` is rejected because it fails on machines that lack one capability; nested engines need the rest.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { docker, tryDocker } from "./docker.ts";

export interface ServerContainer {
  name: string;
  labels: readonly string[];
  image: string;
  /** For `/var/lib/docker`: an engine cannot keep its layers on another engine's layers. */
  volume: string;
  network?: string;
  /** Host port by container port; published on 127.0.0.1 only. */
  ports?: Readonly<Record<number, number>>;
}

const bootDeadlineMs = 60_000;
const migrateRequests = "/proc/sys/net/ipv4/tcp_migrate_req";

export function serverRunArguments(server: ServerContainer): string[] {
  const ports = Object.entries(server.ports ?? {}).flatMap(([inside, outside]) => [
    "-p",
    `127.0.0.1:${outside}:${inside}`,
  ]);
  return [
    ...["run", "-d", "--name", server.name, "--hostname", server.name, ...server.labels],
    ...["--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE"],
    ...["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"],
    ...["--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"],
    ...["-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw", "--cgroupns=host"],
    ...["-v", `${server.volume}:/var/lib/docker`, "-e", "container=docker"],
    // A container may not set it itself; on a real server the proxy's unit does (see the bootstrap).
    ...(existsSync(migrateRequests) ? ["--sysctl", "net.ipv4.tcp_migrate_req=1"] : []),
    ...["-e", `LAB_NAMESERVERS=${readNameservers().join(" ")}`],
    ...(server.network === undefined ? [] : ["--network", server.network]),
    ...ports,
    server.image,
  ];
}

/** Those of this machine that a container can reach; behind a local stub, the ones the stub asks. */
function readNameservers(): string[] {
  for (const path of ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"]) {
    if (!existsSync(path)) continue;
    const found = [...readFileSync(path, "utf8").matchAll(/^nameserver\s+(\S+)/gm)].map(
      (match) => match[1] ?? "",
    );
    const reachable = found.filter((address) => !address.startsWith("127.") && address !== "::1");
    if (reachable.length > 0) return reachable;
  }
  return [];
}

/** Waits until systemd has started everything. A failed unit makes it throw: such a server would confuse every test. */
export async function waitForBoot(container: string): Promise<void> {
  const deadline = Date.now() + bootDeadlineMs;
  for (;;) {
    const args = ["exec", container, "systemctl", "is-system-running", "--wait"];
    const answer = await tryDocker(args, { deadlineMs: bootDeadlineMs });
    const state = answer.stdout.trim();
    if (state === "running") return;
    if (state === "degraded") {
      const failed = await docker(["exec", container, "systemctl", "--failed", "--plain", "--no-legend"]);
      throw new Error(`Lab server ${container} booted with failed units: ${failed}`);
    }
    if (Date.now() > deadline)
      throw new Error(`Lab server ${container} did not boot: ${state || answer.stderr.trim()}`);
    await sleep(50);
  }
}
