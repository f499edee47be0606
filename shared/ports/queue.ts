/**
 * The queue between ingress and runners. A message is a nudge that carries ids only; the row in Postgres is the
 * authority. Adapters: pg-boss (self-hosted), SQS FIFO (cloud); one contract suite runs on both.
 */
export type QueueName = "deploy" | "platform";

export interface QueueMessage {
  operationId: string;
}

export interface ConsumeOptions {
  concurrency: number;
  signal: AbortSignal;
  /**
   * Told of a message that failed five times, with what its handler threw last, before it is laid aside; at least once.
   * What it throws is logged and changes nothing: the group must go on. Not told where the consumers died each time.
   */
  givenUp?: (message: QueueMessage, error: unknown) => Promise<void>;
}

export interface Queue {
  /**
   * Delivers at least once. Messages of one `group` are handled in order, one at a time. `dedupe` equal to that of a
   * message sent within the last five minutes may be swallowed.
   */
  send(
    queue: QueueName,
    message: QueueMessage,
    options: { group: string; dedupe: string; delaySeconds?: number },
  ): Promise<void>;
  /** Resolves once it listens; handles messages until the signal aborts or `close`, which waits for handlers under way. A handler that throws gets the message again with backoff, five times at most; then `givenUp` is told. */
  consume(
    queue: QueueName,
    handler: (message: QueueMessage, context: { attempt: number; signal: AbortSignal }) => Promise<void>,
    options: ConsumeOptions,
  ): Promise<void>;
  /** Messages that were given up and wait for a person; may be a minute old. */
  countDead(queue: QueueName): Promise<number>;
  close(): Promise<void>;
}
