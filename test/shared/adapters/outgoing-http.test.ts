/** The guard of requests to users' addresses: what it reaches, what it refuses, and the bounds of an answer. */
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTargetGuard, openGuardedSocket } from "../../../shared/adapters/target-guard.ts";
import { OutgoingFailure } from "../../../shared/ports/outgoing.ts";
import { openDnsServer } from "../../dns-server.ts";
import { openReceiver, status } from "../../functions/notify/receiver.ts";
import { testOutgoing } from "../../outgoing.ts";

let receiver: Awaited<ReturnType<typeof openReceiver>>;
let dns: Awaited<ReturnType<typeof openDnsServer>>;
beforeAll(async () => {
  receiver = await openReceiver();
  dns = await openDnsServer({
    "inside.test": [["127.0.0.1"]],
    "mixed.test": [["192.88.0.1", "10.0.0.1"]],
    "rebinding.test": [["127.0.0.1"], ["127.0.0.2"]],
    "empty.test": [[]],
  });
});
afterAll(async () => {
  await receiver.close();
  await dns.close();
});
beforeEach(() => receiver.react(status(200)));

const get = (url: string, more: { deadlineMs?: number } = {}) =>
  ({ method: "GET", url, headers: {}, deadlineMs: 2_000, ...more }) as const;

const guarded = (exceptions: string[] = []) =>
  testOutgoing({ guarded: true, resolvers: [dns.address], exceptions });

const refusal = async (work: Promise<unknown>): Promise<OutgoingFailure> => {
  const error = await work.then(
    () => new Error("it was not refused"),
    (failure: unknown) => failure,
  );
  if (error instanceof OutgoingFailure) return error;
  throw error;
};

describe("a guarded request", () => {
  it.each([
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[ff02::1]",
  ])("to %s is refused, and says which address", async (host) => {
    const before = receiver.received.length;
    const failure = await refusal(guarded().send(get(`http://${host}:${receiver.port}/`)));
    expect([failure.kind, failure.message]).toEqual([
      "refused_target",
      expect.stringMatching(/[0-9a-f:.]{3,}.*not public/),
    ]);
    expect(receiver.received).toHaveLength(before);
  });

  it.each([
    "1.1.1.1",
    "9.255.255.255",
    "172.32.0.1",
    "192.169.0.1",
    "223.255.255.255",
    "[2606:4700:4700::1111]",
  ])("to %s, which is public, passes the guard", async (host) => {
    const guard = createTargetGuard({ guarded: true, resolvers: [], exceptions: [] });
    expect(await guard.resolve(host)).toEqual([host.replaceAll(/[[\]]/g, "")]);
  });

  it("to a name that leads inside is refused, also when only one of its addresses does", async () => {
    for (const [name, address] of [
      ["inside.test", "127.0.0.1"],
      ["mixed.test", "10.0.0.1"],
    ]) {
      const failure = await refusal(guarded().send(get(`http://${name}:${receiver.port}/`)));
      expect([failure.kind, failure.message]).toEqual([
        "refused_target",
        expect.stringContaining(`${address}`),
      ]);
    }
  });

  it("goes to the address that was checked, whatever the name says a moment later", async () => {
    // 127.0.0.1 stands for a public address here, 127.0.0.2 for one inside.
    const outgoing = guarded(["127.0.0.1"]);
    const first = await outgoing.send(get(`http://rebinding.test:${receiver.port}/`));
    expect([first.status, dns.asked.filter((name) => name === "rebinding.test")]).toEqual([
      200,
      ["rebinding.test"],
    ]);
    const second = await refusal(outgoing.send(get(`http://rebinding.test:${receiver.port}/`)));
    expect([second.kind, second.message]).toEqual(["refused_target", expect.stringContaining("127.0.0.2")]);
  });

  it("follows no redirect into the private network", async () => {
    const inside = await openReceiver();
    receiver.react(status(307, { location: inside.url }));
    const answer = await guarded(["127.0.0.1"]).send(get(receiver.url));
    expect([answer.status, inside.received]).toEqual([307, []]);
    await inside.close();
  });

  it("reaches what an operator lists, addresses and ranges", async () => {
    for (const exception of ["127.0.0.1", "127.0.0.0/8"]) {
      expect((await guarded([exception]).send(get(`http://inside.test:${receiver.port}/`))).status).toBe(200);
    }
    const other = await refusal(guarded(["127.0.0.9"]).send(get(receiver.url)));
    expect(other.kind).toBe("refused_target");
  });
});

describe("a request", () => {
  it("without the guard reaches the own network: git hosts of self-hosters", async () => {
    expect((await testOutgoing().send(get(receiver.url))).status).toBe(200);
  });

  it("to a name without an address, or that nobody knows, says so", async () => {
    for (const name of ["empty.test", "unknown.test"]) {
      const failure = await refusal(guarded().send(get(`http://${name}/`)));
      expect([failure.kind, failure.message]).toEqual(["unresolved", expect.stringContaining(name)]);
    }
  });

  it("has one deadline for all of it", async () => {
    receiver.react(() => undefined);
    const silent = await refusal(testOutgoing().send(get(receiver.url, { deadlineMs: 300 })));
    expect(silent.kind).toBe("timeout");
    receiver.react((response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(drip));
    });
    const slow = await testOutgoing().send(get(receiver.url, { deadlineMs: 500 }));
    expect([slow.status, slow.text.length]).toEqual([200, expect.any(Number)]);
    expect(slow.text.length).toBeLessThan(500);
  });

  it("to a port where nobody listens is unreachable, and names no more than the host", async () => {
    const closed = await openReceiver();
    await closed.close();
    const failure = await refusal(testOutgoing().send(get(`${closed.url}?secret=1`)));
    expect([failure.kind, failure.message]).toEqual([
      "unreachable",
      `127.0.0.1:${closed.port} could not be reached (ECONNREFUSED).`,
    ]);
  });
});

it("an SSH connection of the cloud goes through the same guard, for names and for addresses", async () => {
  const open = openGuardedSocket(
    createTargetGuard({ guarded: true, resolvers: [dns.address], exceptions: ["127.0.0.2"] }),
  );
  for (const host of ["inside.test", "127.0.0.1", "10.0.0.1"]) {
    const socket = open({ host, port: receiver.port });
    const error = await new Promise<Error>((resolve) => socket.once("error", resolve));
    expect([host, error.message]).toEqual([host, expect.stringContaining("not public")]);
  }
  const direct = connect(receiver.port, "127.0.0.1");
  await new Promise((resolve) => direct.once("connect", resolve));
  direct.destroy();
});
