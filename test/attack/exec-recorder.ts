/**
 * Every program that a lab server starts, with its arguments as the kernel got them: strace follows the server's init and its sshd, so
 * that commands over SSH and detached units are seen with all their children. What containers run inside is not followed (their engine
 * is another tree); what it would leave is looked for as files. Rejected: a wrapper as login shell (it sees the line, not what becomes of it).
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { LabServer } from "../lab/server.ts";

export interface Execution {
  program: string;
  argv: string[];
}

export interface ExecRecorder {
  /** Ends the recording; everything that was started meanwhile, also what could not be started. */
  stop(): Promise<Execution[]>;
}

const traceFile = "/run/slipway-lab-trace";

export async function recordExecutions(server: LabServer): Promise<ExecRecorder> {
  const install =
    "command -v strace >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends strace; }";
  await server.read(["sh", "-c", install], { deadlineMs: 120_000 });
  const follow = `
for comm in /proc/[0-9]*/comm; do
  [ "$(cat "$comm" 2>/dev/null)" = sshd ] && { pid=\${comm#/proc/}; set -- "$@" -p "\${pid%/comm}"; }
done
exec systemd-run --quiet --collect --unit=lab-trace strace -f -q -e trace=execve,execveat -e signal=none -xx -s 10000000 -o "$0" -p 1 "$@"`;
  await server.read(["sh", "-c", follow, traceFile]);
  const sees = async () => {
    await server.read(["systemd-run", "--quiet", "--wait", "--collect", "true"]);
    return (await server.exec(["test", "-s", traceFile])).code === 0;
  };
  await until(sees, "strace does not follow the server");
  return {
    stop: async () => {
      await server.read(["systemctl", "kill", "--signal=INT", "lab-trace.service"]);
      const isOver = async () =>
        (await server.exec(["systemctl", "is-active", "lab-trace.service"])).code !== 0;
      await until(isOver, "strace does not let go of the server");
      return readTrace(await server.read(["cat", traceFile], { deadlineMs: 120_000 }));
    },
  };
}

async function until(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(otherwise);
    await sleep(100);
  }
}

/** One line a call; the rest of a call that was interrupted says nothing about its arguments. */
function readTrace(trace: string): Execution[] {
  return trace.split("\n").flatMap((line) => {
    const [, program, argv] = /execve(?:at)?\((?:\w+, )?"([^"]*)", \[([^\]]*)\]/.exec(line) ?? [];
    if (program === undefined || argv === undefined) return [];
    const words = argv === "" ? [] : argv.split(", ");
    if (words.some((word) => !/^"[^"]*"$/.test(word)))
      throw new Error(`an argument was not recorded whole: ${line.slice(0, 300)}`);
    return [{ program: decode(program), argv: words.map((word) => decode(word.slice(1, -1))) }];
  });
}

/** Everything is printed as `\x` and two digits. */
function decode(text: string): string {
  return Buffer.from(text.replaceAll("\\x", ""), "hex").toString("utf8");
}
