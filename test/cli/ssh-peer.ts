/** An SSH server that shows a host key and lets nobody in: enough to be probed. */
import type { AddressInfo } from "node:net";
import ssh2 from "ssh2";
import { generateKeyPair } from "../lab/key-pair.ts";

export async function openSshPeer() {
  // The generator of ssh2 makes a key that it cannot read itself about once in 400.
  const { privateKey, publicKey } = generateKeyPair();
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on("authentication", (attempt) => attempt.reject());
    // The prober hangs up in the middle of the handshake: that is what it came for.
    client.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hostKey: publicKey,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
