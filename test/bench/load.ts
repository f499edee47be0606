/**
 * Loads a server of this machine over kept connections, one request after the other on each, a bounded number of them.
 * The client is a worker on bare sockets (load-worker.ts): an HTTP client of Node would itself be the limit on two
 * cores, and flatter whoever is slower. Rejected: wrk, which counts time and not requests and has to be installed.
 */
import { Worker } from "node:worker_threads";
import { percentile } from "./statistics.ts";

export interface LoadRequest {
  port: number;
  connections: number;
  requests: number;
  /** Request line and headers; `{n}` is the number of the request, `{ip}` an address of its own. No content-length. */
  head: readonly string[];
  body?: string;
  /** Every answer must have it. */
  status: number;
}

export interface LoadResult {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface LoadMessage {
  ms: number;
  latenciesMs: Float64Array;
  failure: string | null;
}

const warmUpShare = 0.2;
const workerMs = 300_000;

/** A fifth of the requests comes before, uncounted, so that both sides run compiled code. */
export async function load(request: LoadRequest): Promise<LoadResult> {
  await runWorker({ ...request, requests: Math.ceil(request.requests * warmUpShare) });
  const { ms, latenciesMs } = await runWorker(request);
  const latencies = [...latenciesMs];
  return {
    perSecond: (latencies.length / ms) * 1000,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
  };
}

let numbersUsed = 0;

async function runWorker(request: LoadRequest): Promise<LoadMessage> {
  const firstNumber = numbersUsed;
  numbersUsed += request.requests;
  const worker = new Worker(new URL("./load-worker.ts", import.meta.url), {
    workerData: { ...request, firstNumber },
  });
  const timer = setTimeout(() => void worker.terminate(), workerMs);
  try {
    const message = await new Promise<LoadMessage>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", (code) => reject(new Error(`The load client ended with ${code}.`)));
    });
    if (message.failure !== null) throw new Error(message.failure);
    return message;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
