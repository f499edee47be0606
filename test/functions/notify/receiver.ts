/** A receiver of webhooks on this machine that keeps what came and answers as the test says. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: looked into by the assertions
  json: any;
}

export type Reaction = (response: ServerResponse, received: Received) => void;

export const status = (code: number, headers: Record<string, string> = {}): Reaction => {
  return (response) => response.writeHead(code, headers).end(`status ${code}`);
};

export async function openReceiver(first: Reaction = status(200)) {
  const received: Received[] = [];
  let react = first;
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const headers = request.headers as Record<string, string>;
      const one = { headers, text, json: text.startsWith("{") ? JSON.parse(text) : null };
      received.push(one);
      react(response, one);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    titles: () => received.map(({ json }) => json.data.title as string),
    ids: () => received.map(({ headers }) => headers["webhook-id"] ?? ""),
    react: (next: Reaction) => {
      react = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
