/** An SSH server that shows a host key and lets nobody in: enough to be probed. */
import type { AddressInfo } from "node:net";
import ssh2 from "ssh2";

export async function openSshPeer() {
  const key = ssh2.utils.generateKeyPairSync("ed25519");
  const server = new ssh2.Server({ hostKeys: [key.private] }, (client) => {
    client.on("authentication", (attempt) => attempt.reject());
    // The prober hangs up in the middle of the handshake: that is what it came for.
    client.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hostKey: key.public.split(" ").slice(0, 2).join(" "),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
