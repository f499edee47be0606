/** Many people watch one build: how long after a line was printed the last of them has it. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { loggingApp } from "../logging-app.ts";
import type { Row } from "../row.ts";
import type { Stage } from "../stage.ts";
import { percentile } from "../statistics.ts";
import type { StreamReaders, StreamsRead } from "../stream-readers.ts";

const tickEverySeconds = 0.2;
const readersMs = 180_000;

export const streams: Row = {
  name: "streams",
  what: "500 open streams on one build; floor: one reader of the builder's own output over ssh",
  async measure(stage) {
    const app = await loggingApp(stage, "watched");
    const { ssh, git } = await stage.servers();
    const readers = stage.quick ? 50 : 500;
    const ticks = stage.quick ? 50 : 150;
    const sha = await app.commit(
      `for n in $(seq 1 ${ticks}); do echo "tick $(date +%s%3N)"; sleep ${tickEverySeconds}; done`,
    );
    const alone = await readAlone(ssh.run, git.url("bench", "watched"), sha);
    const read = await watch(stage, await app.deploy(sha), readers);
    if (read.completed !== readers) throw new Error(`${readers - read.completed} streams were cut off.`);
    if (read.fewest !== ticks || read.most !== ticks) {
      throw new Error(`Readers saw ${read.fewest} to ${read.most} of ${ticks} lines.`);
    }
    const p99 = percentile(read.latenciesMs, 99);
    return {
      lines: [
        {
          what: `line to ${readers} streams, p99`,
          unit: "ms",
          ours: p99,
          floor: percentile(alone, 99),
          goal: { atMost: 250 },
        },
        {
          what: `line to ${readers} streams, median`,
          unit: "ms",
          ours: percentile(read.latenciesMs, 50),
          floor: percentile(alone, 50),
          goal: { none: "told" },
        },
      ],
      notes: [`${read.latenciesMs.length} lines that arrived; the builder's own delay is in both figures`],
    };
  },
};

async function watch(stage: Stage, deploymentId: string, readers: number): Promise<StreamsRead> {
  const { process, token } = await stage.platform();
  const workerData: StreamReaders = {
    port: Number(new URL(process.url).port),
    path: `/api/deployments/${deploymentId}/stream`,
    token,
    readers,
  };
  const worker = new Worker(new URL("../stream-readers.ts", import.meta.url), { workerData });
  const timer = setTimeout(() => void worker.terminate(), readersMs);
  try {
    const ended = once(worker, "exit").then(([code]) =>
      Promise.reject(new Error(`The readers ended with ${code}.`)),
    );
    const [read] = (await Promise.race([once(worker, "message"), ended])) as [StreamsRead];
    return read;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** The same build read by hand, line by line as it comes. */
async function readAlone(
  run: (argv: readonly string[], onChunk: (text: string) => void) => Promise<string>,
  url: string,
  sha: string,
): Promise<number[]> {
  const script = `set -e; rm -rf /srv/watched; git init --quiet /srv/watched; cd /srv/watched
git fetch --quiet --depth=1 "$1" "$2"; git checkout --quiet FETCH_HEAD
DOCKER_BUILDKIT=1 BUILDKIT_PROGRESS=plain docker build . 2>&1`;
  const latencies: number[] = [];
  await run(["sh", "-c", script, "watch", url, sha], (text) => {
    const nowMs = Date.now();
    for (const [, printed] of text.matchAll(/tick (\d{13})\b/g)) latencies.push(nowMs - Number(printed));
  });
  return latencies;
}
