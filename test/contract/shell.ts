/** What every shell must do, whatever lies under it. Called by the test file of each adapter, with a real server. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Shell,
  ShellFailure,
  type ShellFailureReason,
  type ShellTarget,
} from "../../shared/ports/shell.ts";

export interface OpenedShell {
  shell: Shell;
  /** Signs in as root. */
  root: ShellTarget;
  /** Signs in as a user with password-less sudo. */
  admin: ShellTarget;
  /** Signs in as a user without. */
  plain: ShellTarget;
}

const deadlineMs = 20_000;

export function shellContract(name: string, open: () => Promise<OpenedShell>): void {
  let opened: OpenedShell;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.shell.close());

  const says = (sentence: string, body: (opened: OpenedShell) => Promise<void>): void =>
    test(`${name}: ${sentence}`, () => body(opened));

  says("arguments, environment and output arrive byte for byte", async ({ shell, root, admin }) => {
    const text = fc.string({ unit: "binary", maxLength: 40 }).filter((each) => !each.includes("\0"));
    const property = fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 8 }),
      text,
      async (args, value) => {
        const argv = ["sh", "-c", 'printf "%s\\0" "$@" "$VALUE"', "sh", ...args] as [string, ...string[]];
        for (const target of [root, admin]) {
          const result = await shell.run(target, { argv, env: { VALUE: value }, asRoot: true, deadlineMs });
          expect(Buffer.from(result.stdoutBytes)).toEqual(
            Buffer.from([...args, value].map((each) => `${each}\0`).join("")),
          );
        }
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });

  says("stdin arrives byte for byte and ends, as text, bytes or a slow stream", async ({ shell, root }) => {
    const bytes = randomBytes(3 * 1024 * 1024);
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000);
    };
    for (const stdin of [bytes, pieces()]) {
      const result = await shell.run(root, {
        argv: ["cat"],
        stdin,
        deadlineMs,
        maxOutputBytes: bytes.length,
      });
      expect(bytes.equals(result.stdoutBytes)).toBe(true);
    }
    expect((await shell.run(root, { argv: ["cat"], stdin: "ü\n", deadlineMs })).stdout).toBe("ü\n");
    expect((await shell.run(root, { argv: ["cat"], deadlineMs })).stdout).toBe("");
  });

  says("the exit status is the command's own, and 128 + n for a signal", async ({ shell, root }) => {
    const exits = ["exit 0", "exit 7", "exit 255", "kill -9 $$"];
    const codes = exits.map((script) => shell.run(root, { argv: ["sh", "-c", script], deadlineMs }));
    expect((await Promise.all(codes)).map(({ code }) => code)).toEqual([0, 7, 255, 137]);
    expect((await shell.run(root, { argv: ["no-such-program"], deadlineMs })).code).toBe(127);
  });

  says("stdout and stderr stay apart, and both are whole", async ({ shell, root }) => {
    const script = "i=0; while [ $i -lt 2000 ]; do echo out; echo err >&2; i=$((i+1)); done";
    const result = await shell.run(root, { argv: ["sh", "-c", script], deadlineMs });
    expect([result.stdout, result.stderr]).toEqual(["out\n".repeat(2000), "err\n".repeat(2000)]);
  });

  says("an input that the command does not read is no failure", async ({ shell, root }) => {
    const result = await shell.run(root, {
      argv: ["true"],
      stdin: Buffer.alloc(8 * 1024 * 1024),
      deadlineMs,
    });
    expect(result.code).toBe(0);
  });

  says("a command beyond its deadline fails with `deadline`", async ({ shell, root }) => {
    const startedMs = performance.now();
    await fails("deadline", shell.run(root, { argv: ["sleep", "30"], deadlineMs: 300 }));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  says("an aborted command fails with `aborted`, before and while it runs", async ({ shell, root }) => {
    await fails("aborted", shell.run(root, { argv: ["true"], deadlineMs, signal: AbortSignal.abort() }));
    const controller = new AbortController();
    const chunks = shell.stream(root, {
      argv: ["sh", "-c", "echo up; sleep 30"],
      deadlineMs,
      signal: controller.signal,
    });
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe("up\n");
    controller.abort();
    await fails("aborted", chunks.next());
  });

  says("more output than accepted fails with `output_limit`", async ({ shell, root }) => {
    await fails("output_limit", shell.run(root, { argv: ["yes"], deadlineMs, maxOutputBytes: 100_000 }));
    const exact = await shell.run(root, {
      argv: ["head", "-c", "1000", "/dev/zero"],
      deadlineMs,
      maxOutputBytes: 1000,
    });
    expect(exact.stdoutBytes.length).toBe(1000);
  });

  says(
    "root is root, sudo where the user is not, and its lack is told",
    async ({ shell, root, admin, plain }) => {
      for (const target of [root, admin]) {
        expect((await shell.run(target, { argv: ["id", "-u"], asRoot: true, deadlineMs })).stdout).toBe(
          "0\n",
        );
      }
      expect((await shell.run(admin, { argv: ["id", "-un"], deadlineMs })).stdout).toBe(`${admin.user}\n`);
      await fails("sudo", shell.run(plain, { argv: ["id", "-u"], asRoot: true, deadlineMs }));
      const lookalike = ["sh", "-c", "echo 'sudo: a password is required' >&2; exit 1"] as const;
      expect((await shell.run(admin, { argv: lookalike, asRoot: true, deadlineMs })).code).toBe(1);
    },
  );

  says("a stream gives everything in order, then how it ended", async ({ shell, root }) => {
    const stream = shell.stream(root, {
      argv: ["sh", "-c", "seq 1 200000; echo bad >&2; exit 3"],
      deadlineMs,
    });
    const chunks: Uint8Array[] = [];
    let step = await stream.next();
    for (; step.done !== true; step = await stream.next()) chunks.push(step.value);
    const expected = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(Buffer.concat(chunks).toString()).toBe(expected);
    expect(step.value).toEqual({ code: 3, stderr: "bad\n" });
  });

  says("a stream that nobody reads any more ends on the server", async ({ shell, root, admin }) => {
    for (const target of [root, admin]) {
      const seconds = String(20_000 + Math.trunc(Math.random() * 10_000));
      const argv = ["sh", "-c", `echo up; exec sleep ${seconds}`] as const;
      for await (const _chunk of shell.stream(target, { argv, asRoot: true, deadlineMs })) break;
      const look = ["sh", "-c", 'grep -alx "sleep.$1." /proc/[0-9]*/cmdline; true', "sh", seconds] as const;
      await expect
        .poll(async () => (await shell.run(root, { argv: look, deadlineMs })).stdout, { timeout: 5_000 })
        .toBe("");
    }
  });

  says(
    "an uploaded file is whole, has its mode, and replaces what was there",
    async ({ shell, root, admin }) => {
      const path = `/tmp/contract-${randomBytes(4).toString("hex")}/a folder/it's $HOME\n`;
      const content = randomBytes(300_000);
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        yield content.subarray(0, 1000);
        yield content.subarray(1000);
      };
      for (const [target, body, mode] of [
        [root, "first", 0o600],
        [root, content, 0o644],
        [admin, { bytes: content.length, chunks: pieces() }, 0o751],
      ] as const) {
        await shell.upload(target, { path, content: body, mode, asRoot: true, deadlineMs });
        const shown = await shell.run(root, { argv: ["stat", "-c", "%a", path], deadlineMs });
        expect(shown.stdout.trim()).toBe(mode.toString(8));
      }
      const read = await shell.run(root, { argv: ["cat", path], deadlineMs });
      expect(content.equals(read.stdoutBytes)).toBe(true);
      const folder = path.slice(0, path.lastIndexOf("/"));
      const listing = await shell.run(root, {
        argv: ["sh", "-c", 'stat -c %a "$1"; ls -A "$1" | wc -l', "sh", folder],
        deadlineMs,
      });
      expect(listing.stdout).toBe("700\n2\n"); // one name, which holds a line break
      await shell.run(root, {
        argv: ["rm", "-rf", "--", folder.slice(0, folder.lastIndexOf("/"))],
        deadlineMs,
      });
    },
  );

  says("a host key is told without signing in, and another one is refused", async ({ shell, root }) => {
    const told = await shell.probeHostKey({ host: root.host, port: root.port, deadlineMs });
    expect(told.key).toBe(root.hostKey);
    expect(told.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });

  says("a refused credential fails with `authentication`", async ({ shell, root }) => {
    const password = async () => ({ kind: "password" as const, password: "wrong" });
    const target = {
      ...root,
      serverId: "wrong-password",
      revision: "wrong",
      user: "admin",
      credential: password,
    };
    await fails("authentication", shell.run(target, { argv: ["true"], deadlineMs }));
    const unreadable = async () => ({ kind: "key" as const, privateKey: "no key" });
    const other = { ...root, serverId: "no-key", revision: "wrong", credential: unreadable };
    await fails("authentication", shell.run(other, { argv: ["true"], deadlineMs }));
  });

  says("an address where nobody listens fails with `unreachable`", async ({ shell, root }) => {
    const target = { ...root, serverId: "nobody", port: 1 };
    await fails("unreachable", shell.run(target, { argv: ["true"], deadlineMs }));
    await fails("unreachable", shell.probeHostKey({ host: root.host, port: 1, deadlineMs }));
  });
}

export async function fails(reason: ShellFailureReason, work: Promise<unknown>): Promise<void> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(ShellFailure);
  expect((failure as ShellFailure).reason).toBe(reason);
}
