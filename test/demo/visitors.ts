/**
 * Steady visitors of a URL, as browsers are: connections kept open, one request after the other on each. Every answer
 * that is not a 200, and every connection that breaks under a request, counts as lost.
 */
import { Agent, request } from "node:http";

export interface Visit {
  status: number;
  body: string;
}

export interface VisitCount {
  requests: number;
  lost: number;
  /** What the lost ones met, at most five of them. */
  losses: string[];
  /** How many answers each body had. */
  answers: Map<string, number>;
}

/** One request to `host` by way of the published port of a server on this machine. */
export function visit(url: string, agent?: Agent): Promise<Visit> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port: port === "" ? 80 : Number(port),
      path: pathname,
      headers: { host: hostname },
      ...(agent === undefined ? {} : { agent }),
      timeout: 10_000,
    };
    const sent = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: body.trim() }));
      response.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer within 10 s")));
    sent.on("error", reject);
    sent.end();
  });
}

/** Visits until `signal` aborts; `pauseMs` is how long each visitor waits between two requests. */
export async function visitSteadily(
  url: string,
  options: { visitors: number; pauseMs: number; signal: AbortSignal },
): Promise<VisitCount> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.visitors });
  const count: VisitCount = { requests: 0, lost: 0, losses: [], answers: new Map() };
  const one = async (): Promise<void> => {
    while (!options.signal.aborted) {
      await visitOnce(url, agent, count);
      await new Promise((resolve) => setTimeout(resolve, options.pauseMs));
    }
  };
  await Promise.all(Array.from({ length: options.visitors }, one));
  agent.destroy();
  return count;
}

async function visitOnce(url: string, agent: Agent, count: VisitCount): Promise<void> {
  count.requests++;
  try {
    const { status, body } = await visit(url, agent);
    if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 80)}`);
    count.answers.set(body, (count.answers.get(body) ?? 0) + 1);
  } catch (error) {
    count.lost++;
    if (count.losses.length < 5) count.losses.push(error instanceof Error ? error.message : String(error));
  }
}
