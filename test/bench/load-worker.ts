/** The worker of load.ts: writes requests to sockets and finds the end of each answer, with or without a length. */
import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { LoadMessage, LoadRequest } from "./load.ts";

const request = workerData as LoadRequest & { firstNumber: number };
const body = Buffer.from(request.body ?? "");
const length = request.body === undefined ? [] : [`Content-Length: ${body.length}`];
const head = [...request.head, ...length, "", ""].join("\r\n");
const latenciesMs = new Float64Array(request.requests);
let sent = 0;
let answered = 0;
let startedMs = 0;
let over = false;

/** Sources of their own for 16 million requests: no limit that counts by source interferes. */
function headOf(number: number): string {
  const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  return head.replaceAll("{n}", String(number)).replaceAll("{ip}", ip);
}

function converse(socket: Socket): void {
  let beganMs = 0;
  let answer: Buffer = Buffer.alloc(0);
  const ask = () => {
    if (sent === request.requests) return;
    const number = request.firstNumber + sent++;
    beganMs = performance.now();
    socket.cork();
    socket.write(headOf(number));
    if (body.length > 0) socket.write(body);
    socket.uncork();
  };
  socket.setNoDelay(true);
  socket.on("data", (chunk: Buffer) => {
    answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
    if (!isWhole(answer)) return;
    const status = Number(answer.toString("latin1", 9, 12));
    if (status !== request.status) finish(`An answer of ${status}: ${answer.toString("utf8").slice(-300)}`);
    latenciesMs[answered++] = performance.now() - beganMs;
    answer = Buffer.alloc(0);
    if (answered === request.requests) finish(null);
    else ask();
  });
  socket.on("error", (error) => finish(`A connection broke: ${error.message}`));
  socket.on("close", () => finish("The server closed a connection."));
  ask();
}

function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const head = answer.toString("latin1", 0, end);
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length !== undefined) return answer.length >= end + 4 + Number(length);
  return answer.subarray(-5).toString("latin1") === "0\r\n\r\n";
}

function finish(failure: string | null): void {
  if (over) return;
  over = true;
  const message: LoadMessage = { ms: performance.now() - startedMs, latenciesMs, failure };
  parentPort?.postMessage(message);
}

const sockets = Array.from({ length: request.connections }, () =>
  connect({ host: "127.0.0.1", port: request.port }),
);
await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
startedMs = performance.now();
for (const socket of sockets) converse(socket);
