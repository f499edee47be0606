/** What a person has: OpenSSH with ControlMaster, one connection kept open, a process of the client a command. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../shared/shell/quote.ts";
import type { LabServer } from "../lab/server.ts";

export interface FloorSsh {
  /** Of the key, the known host and the control socket. */
  folder: string;
  /** Answers standard output; throws with what the command said when it fails. `onChunk` sees the output as it comes. */
  run(argv: readonly string[], onChunk?: (text: string) => void): Promise<string>;
  close(): Promise<void>;
}

const commandMs = 600_000;

export async function openFloorSsh(server: LabServer): Promise<FloorSsh> {
  const folder = await mkdtemp(join(tmpdir(), "slipway-bench-"));
  const file = (name: string) => join(folder, name);
  await writeFile(file("key"), server.privateKey, { mode: 0o600 });
  await writeFile(file("hosts"), `[${server.host}]:${server.port} ${server.hostKey}\n`);
  const options = [
    ...["-F", "none", "-S", file("control"), "-i", file("key"), "-p", String(server.port)],
    ...["-o", `UserKnownHostsFile=${file("hosts")}`, "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"],
  ];
  const address = `${server.user}@${server.host}`;
  await ssh([...options, "-M", "-N", "-f", "-o", "ControlPersist=yes", address], { detached: true });
  return {
    folder,
    run: (argv, onChunk) =>
      ssh([...options, address, commandLine({ argv })], onChunk === undefined ? {} : { onChunk }),
    close: async () => {
      await ssh([...options, "-O", "exit", address], { detached: true });
    },
  };
}

/** `detached`: the master inherits the outputs and keeps them open, so nothing may be read from them. */
async function ssh(
  args: readonly string[],
  { detached = false, onChunk }: { detached?: boolean; onChunk?: (text: string) => void },
): Promise<string> {
  const child = spawn("ssh", args, {
    stdio: detached ? "ignore" : ["ignore", "pipe", "pipe"],
    timeout: commandMs,
  });
  const printed: string[] = [];
  const errors: string[] = [];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    printed.push(text);
    onChunk?.(text);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`ssh ended with ${code}: ${errors.join("").slice(-2_000)}`);
  return printed.join("");
}
