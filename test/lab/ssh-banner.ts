/**
 * Whether an SSH server is alive, from its first line: `SSH-2.0-…`. A published port takes connections even while the
 * server behind it is frozen or cut off, so a connection alone proves nothing.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The greeting on a port of 127.0.0.1; undefined when none came in time. */
export function readBanner(port: number, deadlineMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const settle = (banner: string | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(banner);
    };
    const timer = setTimeout(() => settle(undefined), deadlineMs);
    socket.once("data", (chunk) => settle(chunk.toString("latin1").trim()));
    socket.once("error", () => settle(undefined));
    socket.once("close", () => settle(undefined));
  });
}

export async function waitForBanner(port: number, deadlineMs = 30_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (Date.now() < deadline) {
    if ((await readBanner(port, 2_000))?.startsWith("SSH-")) return;
    await sleep(50);
  }
  throw new Error(`sshd on port ${port} did not answer within ${deadlineMs / 1_000} s.`);
}
