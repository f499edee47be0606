/** Whether the platform of this data folder runs, and whether its port answers as it should. */
import { type Finding, fail, ok, warn } from "../../../shared/contract/finding.ts";

const answerMs = 3_000;

/** `pid`: of the live platform that holds the data folder; undefined where none does. */
export function checkProcess(pid: number | undefined): Finding {
  if (pid !== undefined) return ok("process", `The platform runs as process ${pid}.`);
  return warn("process", "No platform runs on this data folder.", 'Start it with "npm start".');
}

/** `url`: where it listens. `running`: null where this machine cannot know (the platform may run on another one). */
export async function checkPort(url: string, running: boolean | null): Promise<Finding> {
  const answer = await askHealth(url);
  if (answer === "alive") return ok("port", `${url} answers.`);
  if (answer === "foreign") {
    const hint = "Stop the other program, or set PORT to another port.";
    return fail("port", `Something else than Slipway answers at ${url}.`, hint);
  }
  const message = `Nothing answers at ${url}.`;
  if (running !== true) return warn("port", message, "This is so until the platform runs there.");
  const hint = "Is this the HOST and PORT that it was started with? Its log says where it listens.";
  return fail("port", `The platform runs, but nothing answers at ${url}.`, hint);
}

async function askHealth(url: string): Promise<"alive" | "foreign" | "silent"> {
  try {
    const answer = await fetch(`${url}/api/system/health`, { signal: AbortSignal.timeout(answerMs) });
    const body: unknown = await answer.json().catch(() => null);
    return JSON.stringify(body) === '{"data":{"status":"ok"}}' ? "alive" : "foreign";
  } catch {
    // No connection, or no answer in time: both are silence here.
    return "silent";
  }
}
