/** What a runner makes of the messages of a queue, wherever it runs: one is taken up, one that was given up is told of. */
import type { ConsumeOptions, Queue, QueueName } from "../ports/queue.ts";
import type { Runner } from "./runner.ts";

/** Resolves once it listens. */
export async function consumeNudges(
  queue: Queue,
  name: QueueName,
  runner: Pick<Runner, "handle" | "givenUp">,
  options: Pick<ConsumeOptions, "concurrency" | "signal">,
): Promise<void> {
  await queue.consume(name, async ({ operationId }) => void (await runner.handle(operationId)), {
    ...options,
    givenUp: ({ operationId }, error) => runner.givenUp(operationId, error),
  });
}
