/** In front of replicas, as the cloud's load balancer stands: a connection goes to the first one that takes it. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

export async function startBalancer(replicas: readonly string[]): Promise<Balancer> {
  const ports = replicas.map((url) => Number(new URL(url).port));
  const open = new Set<Socket>();
  const server = createServer((caller) => {
    open.add(caller);
    caller.on("close", () => open.delete(caller));
    caller.on("error", () => caller.destroy());
    relay(caller, ports);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const each of open) each.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function relay(caller: Socket, [port, ...others]: readonly number[]): void {
  if (port === undefined) return void caller.destroy();
  const replica = connect(port, "127.0.0.1");
  let connected = false;
  replica.once("connect", () => {
    connected = true;
    caller.pipe(replica).pipe(caller);
  });
  replica.on("error", () => {
    if (connected) caller.destroy();
    else relay(caller, others);
  });
  replica.once("close", () => {
    if (connected) caller.destroy();
  });
  caller.once("close", () => replica.destroy());
}
