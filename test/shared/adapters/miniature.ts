/** Starts and ends platforms in miniature, as root or as an ordinary user, and cleans up after them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("platform-in-miniature.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;

export interface User {
  name: string;
  uid?: number;
  gid?: number;
}

/** Root is tried only where the tests run as root. */
export const users: User[] = isRoot
  ? [{ name: "root" }, { name: "an ordinary user", uid: 65534, gid: 65534 }]
  : [{ name: "an ordinary user" }];

export interface Ready {
  pid: number;
  url: string;
  adopted: boolean;
  databasePid: number;
  readyMs: number;
}

export interface Refused {
  refused: string;
  message: string;
}

export class Miniatures {
  readonly #folders: string[] = [];
  readonly #used = new Map<string, Promise<string>>();
  readonly #running = new Set<ChildProcess>();
  readonly #databases = new Set<number>();

  /** A fresh directory that `user` owns. */
  async directory(user: User): Promise<string> {
    const made = await mkdtemp(join(tmpdir(), "slipway-test-"));
    this.#folders.push(made);
    await chmod(made, 0o755);
    if (user.uid !== undefined && user.gid !== undefined) await chown(made, user.uid, user.gid);
    return made;
  }

  /** A directory that earlier tests have used: what is proven on it does not need a new cluster each time. */
  used(user: User): Promise<string> {
    const known = this.#used.get(user.name) ?? this.directory(user);
    this.#used.set(user.name, known);
    return known;
  }

  async start(folder: string, user: User): Promise<{ process: ChildProcess; said: Ready | Refused }> {
    const child = spawn(process.execPath, [program, folder], {
      ...(user.uid === undefined ? {} : { uid: user.uid, gid: user.gid }),
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 60_000,
    });
    this.#running.add(child);
    child.once("exit", () => this.#running.delete(child));
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line) as Ready | Refused;
      if ("databasePid" in said) this.#databases.add(said.databasePid);
      return { process: child, said };
    }
    throw new Error("The platform in miniature ended without a word.");
  }

  async startReady(folder: string, user: User): Promise<{ process: ChildProcess; ready: Ready }> {
    const { process: child, said } = await this.start(folder, user);
    if ("refused" in said) throw new Error(`Refused: ${said.message}`);
    return { process: child, ready: said };
  }

  async end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.end(child, "SIGTERM")));
  }

  async cleanUp(): Promise<void> {
    await this.endAll();
    for (const pid of this.#databases) await endDatabase(pid);
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

/** A database that a killed platform left over; the name is compared, since the pid may be another's by now. */
async function endDatabase(pid: number): Promise<void> {
  const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
  if (name.trim() === "postgres") process.kill(pid, "SIGQUIT");
}
