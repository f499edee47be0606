/**
 * What the SSH adapter does with servers that misbehave, against ssh2's own server: what it was offered and how often is seen from the
 * far side. The contract runs against a real sshd (test/shared/shell/ssh2-shell.lab.test.ts).
 */
import type { AddressInfo } from "node:net";
import ssh2, { type Connection } from "ssh2";
import { afterEach, describe, expect, it } from "vitest";
import { createSsh2Shell, type Ssh2ShellOptions } from "../../../shared/adapters/ssh2-shell.ts";
import type { Shell, ShellTarget } from "../../../shared/ports/shell.ts";
import { fails } from "../../contract/shell.ts";
import { startTcpRelay } from "../shell/tcp-relay.ts";

const deadlineMs = 5_000;
const hostKeys = [
  ssh2.utils.generateKeyPairSync("ed25519"),
  ssh2.utils.generateKeyPairSync("ed25519"),
] as const;
const userKey = ssh2.utils.generateKeyPairSync("ed25519");

interface Fake {
  target: ShellTarget;
  /** Every authentication request, by method. */
  offered: string[];
  connections(): number;
  openConnections(): number;
  commands: string[];
}

type Behaviour = (connection: Connection, commands: string[]) => void;

/** Answers every command with its own text and exit 0. */
const echoing: Behaviour = (connection, commands) => {
  connection.on("session", (accept) => {
    accept().on("exec", (acceptExec, _reject, { command }) => {
      commands.push(command);
      const channel = acceptExec();
      channel.write(command);
      channel.exit(0);
      channel.end();
    });
  });
};

describe("the SSH adapter", () => {
  const closing: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const open = (options: Ssh2ShellOptions = {}): Shell => {
    const shell = createSsh2Shell(options);
    closing.push(() => shell.close());
    return shell;
  };

  const startFake = async (behaviour: Behaviour = echoing, admits = true): Promise<Fake> => {
    const offered: string[] = [];
    const commands: string[] = [];
    let total = 0;
    const live = new Set<Connection>();
    const server = new ssh2.Server({ hostKeys: [hostKeys[0].private] }, (connection) => {
      total++;
      live.add(connection);
      connection.on("authentication", (context) => {
        offered.push(context.method);
        if (admits) context.accept();
        else context.reject(["publickey"]);
      });
      connection.on("error", () => undefined).on("close", () => live.delete(connection));
      behaviour(connection, commands);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => server.close(() => resolve())));
    const target: ShellTarget = {
      serverId: "srv_1",
      host: "127.0.0.1",
      port: (server.address() as AddressInfo).port,
      user: "root",
      hostKey: hostKeys[0].public,
      revision: "1",
      credential: async () => ({ kind: "key", privateKey: userKey.private }),
    };
    return { target, offered, connections: () => total, openConnections: () => live.size, commands };
  };

  it("offers no credential to a server whose host key has changed", async () => {
    const { target, offered, connections } = await startFake();
    const changed = { ...target, hostKey: hostKeys[1].public };
    await fails("host_key_changed", open().run(changed, { argv: ["true"], deadlineMs }));
    expect(connections()).toBe(1);
    expect(offered).toEqual([]);
  });

  it("offers nothing when it asks for a host key", async () => {
    const { target, offered, connections } = await startFake();
    const told = await open().probeHostKey({ host: target.host, port: target.port, deadlineMs });
    expect(told.key).toBe(hostKeys[0].public.trim());
    expect(connections()).toBe(1);
    expect(offered).toEqual([]);
  });

  it("connects to nothing with a pinned key that cannot be read", async () => {
    const { target, connections } = await startFake();
    for (const hostKey of ["", "ssh-ed25519", "ssh-rsa AAAA", "ssh-ed25519 not-base64"]) {
      await fails("host_key_changed", open().run({ ...target, hostKey }, { argv: ["true"], deadlineMs }));
    }
    expect(connections()).toBe(0);
  });

  it("offers a key once, without a round of `none` before it", async () => {
    const { target, offered } = await startFake(echoing, false);
    await fails("authentication", open().run(target, { argv: ["true"], deadlineMs }));
    expect(offered).toEqual(["publickey"]);
  });

  it("tells a credential that cannot be opened without connecting further", async () => {
    const { target, offered } = await startFake();
    const credential = () => Promise.reject(new Error("sealed under an unknown key"));
    const failure = open().run({ ...target, credential }, { argv: ["true"], deadlineMs });
    await expect(failure).rejects.toThrow("The credential of this server could not be opened.");
    expect(offered).toEqual([]);
  });

  it("after three failed connects refuses at once, with the same reason, until its pause is over", async () => {
    let nowMs = 0;
    const { target, connections } = await startFake(echoing, false);
    const shell = open({ nowMs: () => nowMs, random: () => 0.5, breakerOpenMs: 5_000 });
    const attempt = (changes: Partial<ShellTarget> = {}) =>
      fails("authentication", shell.run({ ...target, ...changes }, { argv: ["true"], deadlineMs }));
    for (const pauseMs of [0, 100, 200]) {
      nowMs += pauseMs;
      await attempt();
    }
    expect(connections()).toBe(3);
    await attempt();
    expect(connections()).toBe(3);
    nowMs += 5_000;
    await attempt();
    expect(connections()).toBe(4);
    await attempt({ revision: "2" });
    expect(connections()).toBe(5);
  });

  it("fails with `unreachable` where a connection opens no session, and leaves none open", async () => {
    const { target, openConnections } = await startFake((connection) => {
      connection.on("session", (_accept, reject) => reject());
    });
    const shell = open();
    await fails("unreachable", shell.run(target, { argv: ["true"], deadlineMs }));
    await expect.poll(openConnections).toBe(0);
    expect(shell.counts()).toEqual({ connections: 0, channels: 0 });
  });

  it("waits on its connection for a server that frees a session only a moment after its end", async () => {
    const limit = 3;
    let taken = 0;
    const { target, connections } = await startFake((connection) => {
      connection.on("session", (accept, reject) => {
        if (taken >= limit) return reject();
        taken++;
        const session = accept();
        session.on("exec", (acceptExec) => {
          const channel = acceptExec();
          channel.exit(0);
          channel.end();
        });
        session.on("close", () => setTimeout(() => taken--, 150));
      });
    });
    const shell = open();
    const many = Array.from({ length: 12 }, () => shell.run(target, { argv: ["true"], deadlineMs }));
    expect((await Promise.all(many)).map(({ code }) => code)).toEqual(many.map(() => 0));
    expect(connections()).toBe(1);
  });

  it("serves waiting commands in their order, and drops those whose deadline passes while they wait", async () => {
    const held: (() => void)[] = [];
    const { target, commands } = await startFake((connection, seen) => {
      connection.on("session", (accept) => {
        accept().on("exec", (acceptExec, _reject, { command }) => {
          seen.push(command);
          const channel = acceptExec();
          held.push(() => {
            channel.exit(0);
            channel.end();
          });
        });
      });
    });
    const shell = open({ channelLimit: 1 });
    const first = shell.run(target, { argv: ["first"], deadlineMs });
    const late = shell.run(target, { argv: ["late"], deadlineMs: 100 });
    const second = shell.run(target, { argv: ["second"], deadlineMs });
    const third = shell.run(target, { argv: ["third"], deadlineMs });
    await fails("deadline", late);
    for (const command of [first, second, third]) {
      await expect.poll(() => held.length).toBe(1);
      held.shift()?.();
      expect((await command).code).toBe(0);
    }
    expect(commands).toEqual(["'first' </dev/null", "'second' </dev/null", "'third' </dev/null"]);
  });

  it("takes a channel that ends without an exit status for a lost outcome", async () => {
    const { target } = await startFake((connection) => {
      connection.on("session", (accept) => accept().on("exec", (acceptExec) => acceptExec().end("half")));
    });
    await fails("connection_lost", open().run(target, { argv: ["true"], deadlineMs }));
  });

  it("gives up a connection on which an ended channel is never confirmed, and goes on with a new one", async () => {
    const { target, commands } = await startFake((connection, seen) => {
      connection.on("session", (accept) => {
        accept().on("exec", (acceptExec, _reject, { command }) => {
          seen.push(command);
          const channel = acceptExec();
          if (command.includes("hang")) return;
          channel.exit(0);
          channel.end();
        });
      });
    });
    const relay = await startTcpRelay(target);
    closing.push(() => relay.close());
    const shell = open({ channelLimit: 1, stuckChannelMs: 50 });
    const through = { ...target, port: relay.port };
    const hanging = shell.run(through, { argv: ["hang"], deadlineMs: 500 });
    await expect.poll(() => commands.length).toBe(1);
    relay.freeze();
    await fails("deadline", hanging);
    expect((await shell.run(through, { argv: ["next"], deadlineMs })).code).toBe(0);
    expect(relay.total()).toBe(2);
    await expect.poll(() => shell.counts()).toEqual({ connections: 1, channels: 0 });
  });

  it("after close refuses everything, and what waits is told so", async () => {
    const { target, openConnections } = await startFake((connection) => {
      connection.on("session", (accept) => accept().on("exec", (acceptExec) => void acceptExec()));
    });
    const shell = createSsh2Shell({ channelLimit: 1 });
    const running = shell.run(target, { argv: ["running"], deadlineMs });
    const waiting = shell.run(target, { argv: ["waiting"], deadlineMs });
    await expect.poll(() => shell.counts().channels).toBe(1);
    const told = Promise.all([fails("connection_lost", running), fails("aborted", waiting)]);
    await shell.close();
    await told;
    await fails("aborted", shell.run(target, { argv: ["late"], deadlineMs }));
    await expect.poll(openConnections).toBe(0);
  });
});
