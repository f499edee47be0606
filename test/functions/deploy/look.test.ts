/** The look at a branch, with git itself and a host that wants a credential. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { GitAccess } from "../../../functions/deploy/git-access.ts";
import { lookAtHead } from "../../../functions/deploy/reconcile/look.ts";
import type { Shell, ShellTarget } from "../../../shared/ports/shell.ts";

const secret = "token-0123456789abcdef";
const basic = `Basic ${Buffer.from(`x-access-token:${secret}`).toString("base64")}`;
const sha = "a".repeat(40);

let started: (readonly string[])[];
let asked: (string | undefined)[];
const server = createServer((request, response) => {
  const { authorization } = request.headers;
  asked.push(authorization);
  if (authorization !== basic) {
    response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
  } else if (request.url?.startsWith("/acme/moved.git")) {
    response.writeHead(302, { location: "http://127.0.0.1:1/elsewhere" }).end();
  } else {
    const isHead = request.url?.endsWith("/HEAD") === true;
    response.end(isHead ? "ref: refs/heads/main\n" : `${sha}\trefs/heads/main\n`);
  }
});

/** What an SSH session does with it, on this machine. */
const shell = {
  run: async (_target: unknown, { argv, stdin }: { argv: readonly string[]; stdin: string }) => {
    started.push(argv);
    const [command = "", ...args] = argv;
    const child = spawn(command, args);
    child.stdin.end(stdin);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const [code] = await once(child, "close");
    return { code: Number(code), stdout, stderr };
  },
} as unknown as Shell;

beforeEach(async () => {
  [started, asked] = [[], []];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.close();
});

function look(repository: string, withSecret: boolean, branch: string | null = "main") {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access: GitAccess = { kind: "token", baseUrl, secret, hostKey: null };
  const url = `${baseUrl}/acme/${repository}.git`;
  const signal = AbortSignal.timeout(30_000);
  return lookAtHead(
    shell,
    {} as ShellTarget,
    { url, pin: "", branch, access: withSecret ? access : null },
    signal,
  );
}

it("shows a private branch's head; the credential comes by standard input and stands in no argument", async () => {
  expect(await look("shop", true)).toEqual({ branch: "main", commitSha: sha });
  expect(await look("shop", true, "other")).toBeNull();
  expect(asked).toContain(basic);
  expect(JSON.stringify(started)).not.toContain(secret);
});

it("without a credential, or where the host answers with another address, says why as a fetch would", async () => {
  await expect(look("shop", false)).rejects.toMatchObject({ code: "git_not_allowed" });
  await expect(look("moved", true)).rejects.toMatchObject({ code: "git_redirected" });
});
