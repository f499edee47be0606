/** A server of the SQS protocol in a process of its own, so that it can be killed; what it held is lost with it. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { startSqsServer } from "../sqs-server.ts";

const lines = createInterface({ input: process.stdin });
const [port] = (await once(lines, "line")) as [string];
// The end of the input is the end of whoever started it.
lines.once("close", () => process.exit(0));
const server = await startSqsServer({ port: Number(port) });
console.log(JSON.stringify(await server.urls("deploy")));
