/**
 * A mail server and a name server that no one here wrote: postfix, which keeps what it gets for `ada@mail.test`, and
 * dnsmasq, which answers the names that a test gives it. Both reach this machine on 127.0.0.1 only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { docker, tryDocker } from "./docker.ts";
import { findFreePort } from "./free-port.ts";

export interface StartMailPeer {
  name: string;
  image: string;
  network: string;
  labels: readonly string[];
  /** Address by name, for the name server. */
  names: Readonly<Record<string, string>>;
}

export interface MailPeer {
  smtpPort: number;
  /** Of the name server, on UDP. */
  dnsPort: number;
  /** Takes mail; it is kept on the peer. */
  address: "ada@mail.test";
  /** The whole mailbox, as postfix has written it. */
  mailbox(): Promise<string>;
  remove(): Promise<void>;
}

const readyDeadlineMs = 30_000;

export async function startMailPeer({
  name,
  image,
  network,
  labels,
  names,
}: StartMailPeer): Promise<MailPeer> {
  const smtpPort = await findFreePort();
  const dnsPort = await findFreePort();
  const ports = ["-p", `127.0.0.1:${smtpPort}:25`, "-p", `127.0.0.1:${dnsPort}:53/udp`];
  const addresses = Object.entries(names).map(([host, address]) => `--address=/${host}/${address}`);
  await docker([
    ...["run", "-d", "--name", name, "--hostname", "mail.test", ...labels, "--network", network, ...ports],
    ...["-e", `LAB_NAMES=${addresses.join(" ")}`, image],
  ]);
  await waitUntilItTakesMail(name);
  return {
    ...{ smtpPort, dnsPort, address: "ada@mail.test" },
    mailbox: async () => (await tryDocker(["exec", name, "cat", "/var/mail/ada"])).stdout,
    remove: async () => {
      await docker(["rm", "-f", "-v", name]);
    },
  };
}

async function waitUntilItTakesMail(name: string): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  while ((await tryDocker(["exec", name, "postfix", "status"])).code !== 0) {
    if (Date.now() > deadline) {
      const said = await tryDocker(["logs", name]);
      throw new Error(`The lab's mail server did not start: ${said.stdout}${said.stderr}`);
    }
    await sleep(100);
  }
}
