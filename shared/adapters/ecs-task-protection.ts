/**
 * Keeps a container of the cloud from being chosen when there become fewer, as long as it holds a lease. What it works on
 * would go on elsewhere all the same; this only spares the detour. Outside of ECS it does nothing.
 */
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface TaskProtectionOptions {
  /** ECS_AGENT_URI; undefined outside of ECS. */
  agentUri: string | undefined;
  isBusy: () => boolean;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

const everyMs = 5_000;
const answerMs = 5_000;
/** Renewed well before; a container that hangs loses it by itself. */
const minutes = 30;
const renewMs = 10 * 60_000;

/** Resolves after the signal. */
export async function protectTask({
  agentUri,
  isBusy,
  clock,
  log,
  signal,
}: TaskProtectionOptions): Promise<void> {
  if (agentUri === undefined) return;
  let isProtected = false;
  let saidMs = 0;
  while (!signal.aborted) {
    const busy = isBusy();
    if (busy !== isProtected || (busy && clock.nowMs() - saidMs > renewMs)) {
      try {
        await say(agentUri, busy);
        isProtected = busy;
        saidMs = clock.nowMs();
      } catch (error) {
        log.warn({ err: error }, "the task could not be protected; tried again");
      }
    }
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}

async function say(agentUri: string, busy: boolean): Promise<void> {
  const answer = await fetch(`${agentUri}/task-protection/v1/state`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ProtectionEnabled: busy, ...(busy ? { ExpiresInMinutes: minutes } : {}) }),
    signal: AbortSignal.timeout(answerMs),
  });
  // Of what it would not do it also says so in a body of 200: `failure`, with a reason.
  const text = await answer.text();
  if (!answer.ok || protectionIn(text) !== busy) {
    throw new Error(`ECS answered ${answer.status}: ${text.slice(0, 500)}`);
  }
}

function protectionIn(text: string): boolean | undefined {
  try {
    const said = JSON.parse(text) as { protection?: { ProtectionEnabled?: boolean } };
    return said.protection?.ProtectionEnabled;
  } catch {
    return undefined;
  }
}
