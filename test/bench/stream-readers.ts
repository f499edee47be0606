/**
 * Many readers of one stream, in a worker of their own: bare sockets, since only the time of arrival counts. A line
 * `tick <milliseconds>` was printed at that time by the same kernel's clock.
 */
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

export interface StreamReaders {
  port: number;
  path: string;
  token: string;
  readers: number;
}

export interface StreamsRead {
  latenciesMs: number[];
  /** Readers whose stream said that it is complete. */
  completed: number;
  /** Reader by reader, how many lines it saw. */
  fewest: number;
  most: number;
}

const { port, path, token, readers } = workerData as StreamReaders;
const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`;
const latenciesMs: number[] = [];
const counts: number[] = [];
let completed = 0;

function read(at: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    let rest = "";
    let openedMs = 0;
    socket.setEncoding("utf8");
    socket.on("connect", () => socket.write(request));
    socket.on("data", (text: string) => {
      openedMs ||= Date.now();
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("event: complete")) {
          completed++;
          socket.destroy();
        }
        const [, printed] = / (\d{13})"/.exec(line) ?? [];
        if (printed === undefined || !line.includes("tick ")) continue;
        counts[at] = (counts[at] ?? 0) + 1;
        // What was printed before this reader came was not waiting for it.
        if (Number(printed) > openedMs) latenciesMs.push(Date.now() - Number(printed));
      }
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve());
  });
}

await Promise.all(Array.from({ length: readers }, (_, at) => read(at)));
const result: StreamsRead = {
  latenciesMs,
  completed,
  fewest: Math.min(...counts),
  most: Math.max(...counts),
};
parentPort?.postMessage(result);
