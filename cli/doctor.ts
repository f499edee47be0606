/**
 * `slipway doctor`: looks at the instance from outside and says what to do. Where the data folder or `DATABASE_URL` is
 * here, directly, with or without a running platform; where somebody is logged in, through the API as well. It changes
 * nothing. Exit code 1 when a check fails; a warning is no failure.
 */
import type { Finding } from "../shared/contract/finding.ts";
import { checkOnline } from "./api/check-online.ts";
import { currentLogin } from "./api/credentials.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { plainText } from "./terminal/text.ts";

interface DoctorOptions {
  offline?: boolean;
  online?: boolean;
}

export const defineDoctor: Define = (command, context) => {
  command
    .option("--offline", "only the data folder and database of this machine")
    .option("--online", "only the API of the present login")
    .action((options: DoctorOptions) => diagnose(context, options));
  examples(command, "doctor", "doctor --offline --json", "doctor --online");
};

async function diagnose(context: Context, options: DoctorOptions): Promise<void> {
  const findings: Finding[] = [];
  if (!options.online) {
    const { diagnoseOffline } = await import("../functions/offline.ts");
    findings.push(...(await diagnoseOffline(context.environment)));
  }
  const loggedIn = (await currentLogin(context.environment)) !== undefined;
  if (options.online || (loggedIn && !options.offline)) {
    findings.push(...(await checkOnline(await context.api())));
  }
  context.output.result(findings, () => findings.map((each) => shown(each, context)).join("\n"));
  const failed = findings.filter(({ status }) => status === "fail");
  if (failed.length === 0) return;
  throw new Failure("failed", "unhealthy", `Failed: ${failed.map(({ check }) => check).join(", ")}.`);
}

const colors = { ok: "green", warn: "yellow", fail: "red" } as const;

function shown({ check, status, message, hint }: Finding, { output }: Context): string {
  const head = `${output.style(colors[status], status.padEnd(4))}  ${check.padEnd(18)}  ${plainText(message)}`;
  return hint === null ? head : `${head}\n${" ".repeat(26)}→ ${plainText(hint)}`;
}
