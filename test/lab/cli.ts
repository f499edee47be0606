/**
 * `npm run lab -- up | down | status | clean`: a lab for a person to play with. It stays until `down`, however long the
 * terminal lives.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listRunThings, removeEverything, removeKept, removeLeftOvers } from "./clean.ts";
import { ensureEngine, stopStartedEngine } from "./engine.ts";
import { openLab } from "./lab.ts";
import { keptOwner, ownerLives } from "./labels.ts";

const usage = `npm run lab -- up [--bare]      start a managed server and a git host, and say how to reach them
npm run lab -- down [--engine]  remove them; --engine also stops a container engine that the lab started
npm run lab -- status           what the lab has on this machine
npm run lab -- clean [--all]    remove what killed runs left; --all: every run, image and prepared volume
`;
const keyFolder = join(tmpdir(), "slipway-lab-keys");
const say = (line: string) => void process.stdout.write(`${line}\n`);

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { bare: { type: "boolean" }, engine: { type: "boolean" }, all: { type: "boolean" } },
});

const commands: Readonly<Record<string, () => Promise<void>>> = { up, down, status, clean };
const command = commands[positionals[0] ?? ""];
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  await command();
}

async function up(): Promise<void> {
  const lab = await openLab({ say, owner: keptOwner });
  try {
    const [server, git] = await Promise.all([
      lab.server({ kind: values.bare ? "bare" : "docker" }),
      lab.git(),
    ]);
    await git.createRepository("acme", "web");
    await git.commit("acme", "web", { files: { "index.html": "<h1>Hello from the lab</h1>\n" } });
    const keyFile = join(keyFolder, lab.runId);
    mkdirSync(keyFolder, { recursive: true, mode: 0o700 });
    writeFileSync(keyFile, server.privateKey, { mode: 0o600 });
    writeFileSync(`${keyFile}.hosts`, `[${server.host}]:${server.port} ${server.hostKey}\n`);
    say("");
    say(
      `server    ssh -i ${keyFile} -o UserKnownHostsFile=${keyFile}.hosts -p ${server.port} root@${server.host}`,
    );
    say(`host key  ${server.hostKey}`);
    say(`http      http://127.0.0.1:${server.httpPort}  https://127.0.0.1:${server.httpsPort}`);
    say(`inside    docker exec -it ${server.name} bash`);
    say(`git       ${git.url("acme", "web")} (from the server)`);
    say(`          ${git.localUrl("acme", "web")} (from here)`);
  } catch (error) {
    await lab.close();
    throw error;
  }
}

async function down(): Promise<void> {
  say(`removed ${await removeKept()} things`);
  rmSync(keyFolder, { recursive: true, force: true });
  if (values.engine) say((await stopStartedEngine()) ? "engine stopped" : "the lab started no engine");
}

async function status(): Promise<void> {
  const engine = await ensureEngine(say);
  say(engine.usable ? "engine    answers" : `engine    ${engine.reason}`);
  if (!engine.usable) return;
  for (const thing of await listRunThings()) {
    const whose = thing.owner === keptOwner ? "kept" : ownerLives(thing.owner) ? "in use" : "left over";
    say(`${thing.kind.padEnd(9)} ${thing.name}  ${whose}`);
  }
}

async function clean(): Promise<void> {
  if (values.all) await removeEverything();
  else say(`removed ${await removeLeftOvers()} things`);
}
