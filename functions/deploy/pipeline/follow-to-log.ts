/** Follows a detached step to its end, its lines into the deployment's log, from where the last owner stopped. */
import type { DeploymentPhase } from "../../../shared/domain/deployment.ts";
import { createLineWriter } from "../../../shared/operations/line-writer.ts";
import { timedOutExit } from "../../../shared/shell/detached.ts";
import { DeployFailure } from "../failure.ts";
import { lastLines } from "../store.ts";
import type { Story } from "../story-parts.ts";

/** Answers the exit status. Throws `DeployFailure` for a step that was killed or had no time left. */
export async function followToLog(story: Story, step: string, phase: DeploymentPhase): Promise<number> {
  const { context, parts, hand } = story;
  const offsetKey = `${step}Offset`;
  const offset = Number(context.progress[offsetKey] ?? 0);
  const writer = createLineWriter({
    append: context.append,
    clock: parts.clock,
    redactor: story.redactor,
    stream: "stdout",
    phase,
    offsetKey,
    offset,
  });
  const following = hand.follow(step, offset);
  let reading = await following.next();
  while (reading.done !== true) {
    await writer.write(reading.value.chunk);
    reading = await following.next();
  }
  await writer.end();
  const { exit, bootChanged, started } = reading.value;
  if (exit !== null && exit !== timedOutExit) return exit;
  throw lostStep(await lastLines(parts.db, context.id, phase), { phase, bootChanged, started, exit });
}

function lostStep(
  tail: string[],
  {
    phase,
    bootChanged,
    exit,
  }: { phase: string; bootChanged: boolean; started: boolean; exit: number | null },
): DeployFailure {
  if (exit === timedOutExit) {
    return new DeployFailure(`${phase}_timed_out`, `The ${phase} took too long and was ended.`, null, tail);
  }
  if (bootChanged) {
    const hint = "The version before goes on serving; deploy again.";
    return new DeployFailure("server_restarted", `The server restarted during the ${phase}.`, hint, tail);
  }
  const hint = "Memory may have run out on the server; its system log says why.";
  return new DeployFailure(`${phase}_killed`, `The ${phase} was killed on the server.`, hint, tail);
}
