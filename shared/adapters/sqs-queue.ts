/**
 * The queue of the cloud: SQS FIFO. A message whose handler failed comes back after a pause; one that failed five times,
 * or that nobody can read, is laid into the dead-letter queue with its reason, so that its group goes on and a person
 * can look at it. Messages whose consumers died each time end there too, by the queue's own redrive rule.
 * FIFO queues know no delay of one message: it says itself when its time is, and is put back until then.
 */
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { Log } from "../ports/log.ts";
import type { ConsumeOptions, Queue, QueueMessage, QueueName } from "../ports/queue.ts";

export interface SqsQueueOptions {
  /** Each with its dead-letter queue. Only what this process sends to or consumes. */
  queues: Partial<Record<QueueName, { url: string; deadUrl: string }>>;
  region: string;
  log: Log;
  /** Before the second attempt; doubled for each further one. Default 1; 0 means at once. */
  retrySeconds?: number;
  /**
   * How long a question waits for a message, and so the most that an end waits: a question is never broken off, since
   * the queue may just be handing out a message to it, which would hold up its group. Default 5.
   */
  waitSeconds?: number;
}

type Handler = Parameters<Queue["consume"]>[1];

const attemptsMost = 5;
const retryMostSeconds = 60;
/** A consumer that died is noticed after this time. Renewed three times within it. */
const visibilitySeconds = 30;
const stopMs = 10_000;
/** After a failure of the queue itself. */
const pauseMs = 1_000;

export function createSqsQueue(options: SqsQueueOptions): Queue {
  const { log } = options;
  const client = new SQSClient({ region: options.region, maxAttempts: 3, ...endpointOf(options) });
  const consuming = new Set<Promise<void>>();
  const closing = new AbortController();
  const urlsOf = (queue: QueueName) => {
    const urls = options.queues[queue];
    if (urls === undefined) throw new Error(`this process was given no queue ${queue}`);
    return urls;
  };

  return {
    async send(queue, message, { group, dedupe, delaySeconds = 0 }) {
      const notBefore = delaySeconds > 0 ? { notBeforeMs: Date.now() + delaySeconds * 1000 } : {};
      await client.send(
        new SendMessageCommand({
          QueueUrl: urlsOf(queue).url,
          MessageBody: JSON.stringify({ ...message, ...notBefore }),
          MessageGroupId: group,
          MessageDeduplicationId: dedupe,
        }),
      );
    },
    async consume(queue, handler, { concurrency, signal, givenUp = async () => undefined }) {
      const ends = AbortSignal.any([signal, closing.signal]);
      const consumer: Consumer = { client, ...urlsOf(queue), handler, givenUp, log, options, signal: ends };
      for (let index = 0; index < concurrency; index++) {
        const ended = receiveForEver(consumer).finally(() => consuming.delete(ended));
        consuming.add(ended);
      }
    },
    async countDead(queue) {
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({
          QueueUrl: urlsOf(queue).deadUrl,
          AttributeNames: ["ApproximateNumberOfMessages"],
        }),
      );
      return Number(Attributes?.["ApproximateNumberOfMessages"] ?? 0);
    },
    async close() {
      closing.abort();
      await within(Promise.all(consuming), stopMs);
      client.destroy();
    },
  };
}

/** Where the queues are. Left to itself, the SDK finds the same place out again with each request, and warns where it is not AWS's own. */
function endpointOf({ queues }: SqsQueueOptions): { endpoint?: string } {
  const [first] = Object.values(queues);
  return first === undefined ? {} : { endpoint: new URL(first.url).origin };
}

interface Consumer {
  client: SQSClient;
  url: string;
  deadUrl: string;
  handler: Handler;
  givenUp: NonNullable<ConsumeOptions["givenUp"]>;
  log: Log;
  options: SqsQueueOptions;
  signal: AbortSignal;
}

async function receiveForEver(consumer: Consumer): Promise<void> {
  const { client, url, log, options, signal } = consumer;
  while (!signal.aborted) {
    try {
      const { Messages: [message] = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: url,
          MaxNumberOfMessages: 1,
          WaitTimeSeconds: options.waitSeconds ?? 5,
          VisibilityTimeout: visibilitySeconds,
          MessageSystemAttributeNames: ["ApproximateReceiveCount", "MessageGroupId"],
        }),
      );
      if (message !== undefined) await take(consumer, message);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ error }, "the queue has a problem; asking again");
      await pause(signal);
    }
  }
}

async function take(consumer: Consumer, message: Message): Promise<void> {
  const read = readMessage(message.Body);
  const received = Number(message.Attributes?.["ApproximateReceiveCount"] ?? 1);
  if (read === null) return bury(consumer, message, "it is no message of this platform");
  if (consumer.signal.aborted) return hide(consumer, message, 0);
  const earlyMs = read.notBeforeMs - Date.now();
  if (earlyMs > 0) return hide(consumer, message, Math.ceil(earlyMs / 1000));
  const attempt = Math.max(1, received - (read.notBeforeMs > 0 ? 1 : 0));
  const { log, signal, handler, options } = consumer;
  const { operationId } = read;
  const renewing = setInterval(
    () => {
      hide(consumer, message, visibilitySeconds).catch((error: unknown) =>
        log.warn({ error, operationId }, "a message could not be held; it may come to another consumer"),
      );
    },
    (visibilitySeconds * 1000) / 3,
  );
  try {
    await handler({ operationId }, { attempt, signal });
    await remove(consumer, message);
  } catch (error) {
    log.warn({ error, operationId, attempt }, "handling a message failed");
    if (attempt >= attemptsMost) {
      await consumer
        .givenUp({ operationId }, error)
        .catch((failure: unknown) =>
          log.error({ error: failure, operationId }, "nobody was told of a given-up message"),
        );
      return await bury(consumer, message, reasonOf(error));
    }
    const first = options.retrySeconds ?? 1;
    await hide(consumer, message, Math.min(first * 2 ** (attempt - 1), retryMostSeconds));
  } finally {
    clearInterval(renewing);
  }
}

/** `notBeforeMs` is 0 where no delay was asked for. */
function readMessage(body: string | undefined): (QueueMessage & { notBeforeMs: number }) | null {
  try {
    const { operationId, notBeforeMs = 0 } = JSON.parse(body ?? "") as Record<string, unknown>;
    if (typeof operationId !== "string" || typeof notBeforeMs !== "number") return null;
    return { operationId, notBeforeMs };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

async function hide({ client, url }: Consumer, { ReceiptHandle }: Message, seconds: number): Promise<void> {
  await client.send(
    new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle, VisibilityTimeout: seconds }),
  );
}

async function remove({ client, url }: Consumer, { ReceiptHandle }: Message): Promise<void> {
  await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
}

/** First laid aside, then removed: died in between, it is only there twice. */
async function bury(consumer: Consumer, message: Message, reason: string): Promise<void> {
  consumer.log.error({ messageId: message.MessageId, reason }, "a message is given up");
  await consumer.client.send(
    new SendMessageCommand({
      QueueUrl: consumer.deadUrl,
      MessageBody: message.Body ?? "",
      MessageGroupId: message.Attributes?.["MessageGroupId"] ?? "none",
      MessageDeduplicationId: message.MessageId,
      MessageAttributes: { reason: { DataType: "String", StringValue: reason.slice(0, 500) || "unknown" } },
    }),
  );
  await remove(consumer, message);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pauseMs);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
  });
}

async function within(done: Promise<unknown>, deadlineMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadlineMs);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
