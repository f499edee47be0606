/**
 * Sends to SQS from a host where its own SDK is too heavy: one signed request. Its key may send and nothing else.
 * The other half of the queue is shared/adapters/sqs-queue.ts.
 */
import { AwsClient } from "aws4fetch";
import { limits } from "../../shared/domain/limits.ts";
import type { Queue } from "../../shared/ports/queue.ts";

export interface SqsSenderOptions {
  queueUrl: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

type Send = (
  ...sent: Parameters<Queue["send"]> extends [unknown, ...infer Rest] ? Rest : never
) => Promise<void>;

export function createSqsSender({ queueUrl, region, accessKeyId, secretAccessKey }: SqsSenderOptions): Send {
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "sqs", retries: 2 });
  return async (message, { group, dedupe }) => {
    const answer = await client.fetch(new URL("/", queueUrl).href, {
      method: "POST",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
      body: JSON.stringify({
        QueueUrl: queueUrl,
        MessageBody: JSON.stringify(message),
        MessageGroupId: group,
        MessageDeduplicationId: dedupe,
      }),
      signal: AbortSignal.timeout(limits.nudgeMs),
    });
    if (!answer.ok) throw new Error(`SQS answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
    await answer.body?.cancel();
  };
}
