/** A way to the cloud that can be broken: it may swallow answers after the cloud has done its work, or be away. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Relay {
  url: string;
  /** Answers to these paths never arrive. */
  swallow: RegExp | null;
  /** Done once, before the next request goes on. */
  first: (() => Promise<void>) | null;
  /** Every connection is ended at once. */
  isAway: boolean;
  /** Requests that are under way. */
  open: Set<string>;
  /** Headers of the last request to the cloud. */
  lastHeaders: Record<string, unknown>;
  close(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const server = createServer(async (incoming, outgoing) => {
    const { first } = relay;
    relay.first = null;
    await first?.();
    if (relay.isAway) return incoming.socket.destroy();
    const path = incoming.url ?? "";
    relay.open.add(path);
    relay.lastHeaders = incoming.headers;
    const { method = "GET", headers } = incoming;
    const sent = request(`${target}${path}`, { method, headers, agent: false }, (answer) => {
      if (relay.swallow?.test(path) === true) {
        answer.resume().once("end", () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    sent.once("error", () => outgoing.destroy());
    outgoing.once("close", () => {
      relay.open.delete(path);
      sent.destroy();
    });
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ swallow: null, first: null, isAway: false, open: new Set<string>(), lastHeaders: {} },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return relay;
}
