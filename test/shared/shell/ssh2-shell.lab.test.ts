/** The SSH adapter against a real sshd: the contract, and the faults of a real connection. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import type { Shell, ShellTarget } from "../../../shared/ports/shell.ts";
import { fails, shellContract } from "../../contract/shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { LabServer } from "../../lab/server.ts";
import { labTarget } from "./lab-target.ts";
import { soakShell } from "./soak-shell.ts";
import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

const deadlineMs = 20_000;

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(65_536);
}

describeWithLab("remote execution over ssh2", (lab) => {
  shellContract("ssh2", async () => ({
    shell: createSsh2Shell(),
    root: labTarget(lab.server),
    admin: labTarget(lab.server, { user: "admin" }),
    plain: labTarget(lab.server, { user: "plain" }),
  }));

  describe("a connection", () => {
    let shell: Shell | undefined;
    let relay: TcpRelay | undefined;
    afterEach(async () => {
      await shell?.close();
      await relay?.close();
    });
    const open = async (changes: Partial<ShellTarget> = {}, options = {}) => {
      shell = createSsh2Shell(options);
      relay = await startTcpRelay(lab.server);
      return { shell, relay, target: labTarget(lab.server, { port: relay.port, ...changes }) };
    };

    it("signs in with a password", async () => {
      const credential = async () => ({ kind: "password" as const, password: lab.server.password });
      const { shell, target } = await open({ user: "admin", credential });
      expect((await shell.run(target, { argv: ["id", "-un"], deadlineMs })).stdout).toBe("admin\n");
    });

    it("is one for all short commands and one for all streams, and none after close", async () => {
      const { shell, relay, target } = await open();
      const stream = shell.stream(target, { argv: ["sh", "-c", "echo up; sleep 30"], deadlineMs });
      await stream.next();
      const many = Array.from({ length: 30 }, (_, index) =>
        shell.run(target, { argv: ["echo", `${index}`], deadlineMs }),
      );
      expect((await Promise.all(many)).map(({ stdout }) => Number(stdout))).toEqual(
        many.map((_, index) => index),
      );
      expect(relay.total()).toBe(2);
      expect(shell.counts().connections).toBe(2);
      await stream.return({ code: 0, stderr: "" });
      await shell.close();
      expect(shell.counts()).toEqual({ connections: 0, channels: 0 });
      await expect.poll(() => relay.open()).toBe(0);
    });

    it("that is cut while a command runs fails that command with `connection_lost`, and the next one reconnects", async () => {
      const { shell, relay, target } = await open();
      const stream = shell.stream(target, { argv: ["sh", "-c", "echo up; sleep 30"], deadlineMs });
      await stream.next();
      await shell.run(target, { argv: ["true"], deadlineMs });
      const before = relay.receivedBytes();
      const running = shell.run(target, { argv: ["sleep", "30"], deadlineMs });
      await expect.poll(() => relay.receivedBytes()).toBeGreaterThan(before);
      relay.cut();
      await fails("connection_lost", running);
      await fails("connection_lost", stream.next());
      expect((await shell.run(target, { argv: ["echo", "again"], deadlineMs })).stdout).toBe("again\n");
    });

    it("to a server with another host key is refused before the credential is even opened", async () => {
      let opened = 0;
      const credential = async () => {
        opened++;
        return { kind: "key" as const, privateKey: lab.server.privateKey };
      };
      const flipped = Buffer.from(lab.server.hostKey.split(" ")[1] ?? "", "base64");
      flipped.writeUInt8(flipped.readUInt8(45) ^ 1, 45);
      const hostKey = `ssh-ed25519 ${flipped.toString("base64")}`;
      const { shell, target } = await open({ credential, hostKey });
      const attempts = async () =>
        (await lab.server.exec(["sh", "-c", "journalctl -u ssh --no-pager | grep -c 'Accepted\\|Failed'"]))
          .stdout;
      const before = await attempts();
      await fails("host_key_changed", shell.run(target, { argv: ["true"], deadlineMs }));
      expect(opened).toBe(0);
      expect(await attempts()).toBe(before);
    });

    it("that is unused is closed after a while", async () => {
      const { shell, relay, target } = await open({}, { idleMs: 50 });
      await shell.run(target, { argv: ["true"], deadlineMs });
      const left = () => ({ ...shell.counts(), atTheServer: relay.open() });
      await expect.poll(left).toEqual({ connections: 0, channels: 0, atTheServer: 0 });
    });

    it("is replaced when the server's row changes, and dropped when it is forgotten", async () => {
      const { shell, relay, target } = await open();
      await shell.run(target, { argv: ["true"], deadlineMs });
      await shell.run({ ...target, revision: "2" }, { argv: ["true"], deadlineMs });
      expect(relay.total()).toBe(2);
      await expect.poll(() => relay.open()).toBe(1);
      shell.forget(target.serverId);
      await expect.poll(() => relay.open()).toBe(0);
    });

    it("that is lost while a file is uploaded leaves the old file as it was", async () => {
      const { shell, relay, target } = await open();
      const path = `/tmp/upload-${relay.port}`;
      await shell.upload(target, { path, content: "old", mode: 0o600, deadlineMs });
      const half = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(100_000);
        relay.cut();
        yield Buffer.alloc(100_000);
      };
      await fails(
        "connection_lost",
        shell.upload(target, {
          path,
          content: { bytes: 200_000, chunks: half() },
          mode: 0o600,
          deadlineMs,
        }),
      );
      expect((await shell.run(target, { argv: ["cat", path], deadlineMs })).stdout).toBe("old");
      const list = { argv: ["sh", "-c", 'ls "$1"*', "sh", path] as const, deadlineMs };
      await expect
        .poll(async () => (await shell.run(target, list)).stdout, { timeout: 5_000 })
        .toBe(`${path}\n`);
      await shell.run(target, { argv: ["rm", "-f", path], deadlineMs });
    });

    it("holds a large upload alone: a command runs while the upload's wire is full", async () => {
      const { shell, relay, target } = await open();
      const path = `/tmp/large-${relay.port}`;
      const ended = new AbortController();
      const upload = shell.upload(target, {
        path,
        content: { bytes: 50_000_000, chunks: endless() },
        mode: 0o600,
        deadlineMs,
        signal: ended.signal,
      });
      const refused = fails("aborted", upload);
      const begun = () => lab.server.exec(["sh", "-c", 'ls "$1".slipway-*', "sh", path]);
      await expect.poll(async () => (await begun()).code, { timeout: 5_000 }).toBe(0);
      relay.freeze();
      expect((await shell.run(target, { argv: ["echo", "here"], deadlineMs })).stdout).toBe("here\n");
      ended.abort();
      await refused;
      relay.cut();
      await expect.poll(async () => (await begun()).code, { timeout: 5_000 }).not.toBe(0);
    });
  });

  describe("a server with three sessions and several host keys", () => {
    let server: LabServer;
    let shell: Shell;
    beforeAll(async () => {
      server = await lab.startServer({ kind: "bare" });
      shell = createSsh2Shell();
      const script =
        "ssh-keygen -A && echo 'MaxSessions 3' >/etc/ssh/sshd_config.d/few.conf && systemctl restart ssh";
      await server.read(["sh", "-c", script]);
    });
    afterAll(async () => {
      await shell.close();
      await server.remove();
    });

    it("runs fifty commands that come at once", async () => {
      const target = labTarget(server);
      const many = Array.from({ length: 50 }, (_, index) =>
        shell.run(target, { argv: ["echo", `${index}`], deadlineMs: 60_000 }),
      );
      expect((await Promise.all(many)).map(({ stdout }) => Number(stdout))).toEqual(
        many.map((_, index) => index),
      );
      expect(shell.counts()).toEqual({ connections: 1, channels: 0 });
    });

    it("is as it was after five hundred commands of every sort", async () => {
      expect(await soakShell(server, labTarget(server), { commands: 500, width: 12, seed: 7 })).toBe(500);
    });

    it("presents the key that is pinned, whichever it is", async () => {
      for (const type of ["rsa", "ecdsa", "ed25519"]) {
        const key = await server.read(["cat", `/etc/ssh/ssh_host_${type}_key.pub`]);
        const target = labTarget(server, { serverId: type, hostKey: key.split(" ").slice(0, 2).join(" ") });
        expect((await shell.run(target, { argv: ["echo", type], deadlineMs })).stdout).toBe(`${type}\n`);
      }
    });

    it("that no longer has a key of the pinned type counts as changed", async () => {
      const key = (await server.read(["cat", "/etc/ssh/ssh_host_ecdsa_key.pub"]))
        .split(" ")
        .slice(0, 2)
        .join(" ");
      await server.read(["sh", "-c", "rm /etc/ssh/ssh_host_ecdsa_key* && systemctl restart ssh"]);
      const target = labTarget(server, { serverId: "gone", hostKey: key });
      await fails("host_key_changed", shell.run(target, { argv: ["true"], deadlineMs }));
    });
  });
});
