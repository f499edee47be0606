/** The queue of the cloud, against a server of its real protocol; what the worker sends is what functions receive. */
import { ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqsSender } from "../../../edge/adapters/sqs-sender.ts";
import { createSqsQueue } from "../../../shared/adapters/sqs-queue.ts";
import type { Queue } from "../../../shared/ports/queue.ts";
import { queueContract } from "../../contract/queue.ts";
import { recordingLog, silentLog } from "../../silent-log.ts";
import { type SqsServer, sqsCredentials, sqsRegion, startSqsServer } from "../../sqs-server.ts";

let server: SqsServer;
let queues: Record<"platform" | "deploy", { url: string; deadUrl: string }>;
beforeAll(async () => {
  // Where the SDK looks for a key, in a container of the cloud as well.
  process.env["AWS_ACCESS_KEY_ID"] = sqsCredentials.accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = sqsCredentials.secretAccessKey;
  server = await startSqsServer();
  queues = { platform: await server.urls("platform"), deploy: await server.urls("deploy") };
});
afterAll(() => server.close());

const open = async (log = silentLog): Promise<Queue> =>
  createSqsQueue({ queues, region: sqsRegion, log, retrySeconds: 0, waitSeconds: 1 });

queueContract("SQS", () => open());

test("what the worker sends arrives, in the order of its group", async () => {
  const send = createSqsSender({ queueUrl: queues.deploy.url, region: sqsRegion, ...sqsCredentials });
  for (const operationId of ["one", "two", "three"]) {
    await send({ operationId }, { group: "project", dedupe: operationId });
  }
  const queue = await open();
  const got: string[] = [];
  await queue.consume("deploy", async ({ operationId }) => void got.push(operationId), {
    concurrency: 2,
    signal: new AbortController().signal,
  });
  await expect.poll(() => got, { timeout: 10_000 }).toEqual(["one", "two", "three"]);
  await queue.close();
});

test("a message that nobody can read is laid aside with its reason, and its group goes on", async () => {
  for (const [index, body] of ["poison", '{"operationId":7}', '{"operationId":"good"}'].entries()) {
    const sent = { QueueUrl: queues.deploy.url, MessageBody: body, MessageGroupId: "poisoned" };
    await server.client.send(new SendMessageCommand({ ...sent, MessageDeduplicationId: `p${index}` }));
  }
  const log = recordingLog();
  const queue = await open(log);
  const got: string[] = [];
  await queue.consume("deploy", async ({ operationId }) => void got.push(operationId), {
    concurrency: 1,
    signal: new AbortController().signal,
  });
  await expect.poll(() => got, { timeout: 10_000 }).toEqual(["good"]);
  expect(await queue.countDead("deploy")).toBe(2);
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(2);
  const { Messages = [] } = await server.client.send(
    new ReceiveMessageCommand({
      QueueUrl: queues.deploy.deadUrl,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ["reason"],
    }),
  );
  expect(
    Messages.map(({ Body, MessageAttributes }) => [Body, MessageAttributes?.["reason"]?.StringValue]),
  ).toEqual(expect.arrayContaining([["poison", "it is no message of this platform"]]));
  await queue.close();
});

test("a queue that this process was not given is a mistake, told at once", async () => {
  const queue = createSqsQueue({ queues: {}, region: sqsRegion, log: silentLog });
  await expect(queue.send("deploy", { operationId: "x" }, { group: "g", dedupe: "d" })).rejects.toThrow(
    "deploy",
  );
  await queue.close();
});
