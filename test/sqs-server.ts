/** A server of the SQS protocol with the queues of the cloud: FIFO, each with a dead-letter queue. */
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SQSClient,
  type SQSClientConfig,
} from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";

export interface SqsServer {
  /** Of `deploy` or any other name that was asked for. */
  urls(name: string): Promise<{ url: string; deadUrl: string }>;
  client: SQSClient;
  close(): Promise<void>;
}

export const sqsCredentials = { accessKeyId: "test", secretAccessKey: "test" };
export const sqsRegion = "us-east-1";

/** Port 0: any free one. */
export async function startSqsServer({ port = 0 } = {}): Promise<SqsServer> {
  const server = await startFauxqs({ port, logger: false });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const settings: SQSClientConfig = { endpoint, region: sqsRegion, credentials: sqsCredentials };
  const client = new SQSClient(settings);
  const make = async (name: string, more: Record<string, string> = {}) => {
    const made = await client.send(
      new CreateQueueCommand({
        QueueName: `${name}.fifo`,
        Attributes: { FifoQueue: "true", VisibilityTimeout: "30", ...more },
      }),
    );
    // The server names itself by a host that no resolver knows.
    return `${endpoint}${new URL(made.QueueUrl ?? "").pathname}`;
  };
  return {
    client,
    async urls(name) {
      const deadUrl = await make(`${name}-dead`);
      const asked = new GetQueueAttributesCommand({ QueueUrl: deadUrl, AttributeNames: ["QueueArn"] });
      const { Attributes } = await client.send(asked);
      const redrive = { deadLetterTargetArn: Attributes?.["QueueArn"], maxReceiveCount: 8 };
      return { url: await make(name, { RedrivePolicy: JSON.stringify(redrive) }), deadUrl };
    },
    async close() {
      client.destroy();
      await server.stop();
    },
  };
}
