/** A wire that a test can cut: everything between a shell and a server goes through it. */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

export interface TcpRelay {
  port: number;
  /** Connections from the shell that are open now. */
  open(): number;
  /** How many there have been. */
  total(): number;
  /** Ends them all at once; new ones work unless `refusing`. */
  cut(): void;
  /** What is open now carries nothing any more, and stays open; new ones work. */
  freeze(): void;
  setRefusing(refusing: boolean): void;
  /** Bytes that came from the server so far. */
  receivedBytes(): number;
  close(): Promise<void>;
}

export async function startTcpRelay(to: { host: string; port: number }): Promise<TcpRelay> {
  const pairs = new Set<[Socket, Socket]>();
  let refusing = false;
  let total = 0;
  let receivedBytes = 0;
  const server = createServer((near) => {
    if (refusing) {
      near.destroy();
      return;
    }
    total++;
    const far = connect({ host: to.host, port: to.port, noDelay: true });
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    far.on("data", (chunk) => {
      receivedBytes += chunk.length;
    });
    for (const [from, into] of [pair, [far, near] as const]) {
      from.pipe(into);
      from.on("error", () => into.destroy());
      from.on("close", () => {
        into.destroy();
        pairs.delete(pair);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    open: () => pairs.size,
    total: () => total,
    cut,
    freeze: () => {
      for (const [near, far] of pairs) {
        near.unpipe(far);
        far.unpipe(near);
      }
    },
    setRefusing: (value) => {
      refusing = value;
    },
    receivedBytes: () => receivedBytes,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
