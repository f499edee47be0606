/**
 * `npm run bench`: every goal of speed, measured beside its floor in the same run, in one table. `-- --only push,read`
 * picks rows, `-- --quick` takes small counts, `-- --json` prints JSON. Speed is never asserted by a test: a missed
 * goal ends with 0, only what breaks with 1.
 */
import { parseArgs } from "node:util";
import type { Row } from "./row.ts";
import { alertFanOut } from "./rows/alert-fan-out.ts";
import { badSignature } from "./rows/bad-signature.ts";
import { buildLog } from "./rows/build-log.ts";
import { forwardedRead } from "./rows/forwarded-read.ts";
import { idle } from "./rows/idle.ts";
import { push } from "./rows/push.ts";
import { raiseAlertRow } from "./rows/raise-alert.ts";
import { read } from "./rows/read.ts";
import { rollback } from "./rows/rollback.ts";
import { sshCommand } from "./rows/ssh-command.ts";
import { streams } from "./rows/streams.ts";
import { swap } from "./rows/swap.ts";
import { webhook } from "./rows/webhook.ts";
import { webhookWorkerd } from "./rows/webhook-workerd.ts";
import { openStage } from "./stage.ts";
import { asJson, asTable, type Outcome } from "./table.ts";

const rows: readonly Row[] = [
  idle,
  webhook,
  webhookWorkerd,
  badSignature,
  read,
  forwardedRead,
  raiseAlertRow,
  alertFanOut,
  sshCommand,
  push,
  rollback,
  swap,
  buildLog,
  streams,
];

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) {
    console.log(rows.map(({ name, what }) => `${name.padEnd(14)} ${what}`).join("\n"));
    return;
  }
  const started = performance.now();
  const say = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(5);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  const stage = openStage({ quick: values.quick, say });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(130)));
  }
  const outcomes: Outcome[] = [];
  try {
    for (const row of chosen()) {
      say(`${row.name}: ${row.what}`);
      try {
        outcomes.push({ row, measured: await row.measure(stage) });
      } catch (error) {
        process.exitCode = 1;
        say(`${row.name} broke: ${error instanceof Error ? error.stack : String(error)}`);
      }
    }
  } finally {
    await stage.close();
  }
  console.log(values.json ? asJson(outcomes) : `\n${asTable(outcomes)}\n`);
}

function chosen(): readonly Row[] {
  if (values.only === undefined) return rows;
  return values.only.split(",").map((name) => {
    const found = rows.find((row) => row.name === name.trim());
    if (found !== undefined) return found;
    throw new Error(`There is no row "${name}". Rows: ${rows.map((row) => row.name).join(", ")}.`);
  });
}

await main().catch((error: unknown) => {
  process.stderr.write(`The bench failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
