/**
 * What the edge adds to a read that it forwards: one caller asks through the edge, and asks the same function directly
 * with an identity that was signed beforehand, in turns. Edge and function are processes of their own, as in containers.
 */
import { Agent, request } from "node:http";
import { openPartsApart } from "../parts-apart.ts";
import type { Row } from "../row.ts";
import { percentile } from "../statistics.ts";

export const forwardedRead: Row = {
  name: "forwarded-read",
  what: "a read forwarded by the edge on Node, one caller; floor: the same function asked directly",
  async measure(stage) {
    const parts = await openPartsApart();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const ours: number[] = [];
      const floor: number[] = [];
      const rounds = stage.quick ? 300 : 2_000;
      for (let round = 0; round < rounds; round++) {
        const throughEdge = await ask(agent, parts.edgeUrl + parts.path, parts.bearer);
        const direct = await ask(agent, parts.functionUrl + parts.path, await parts.signed());
        // The first answers come from code that is not compiled yet.
        if (round < rounds / 5) continue;
        ours.push(throughEdge);
        floor.push(direct);
      }
      const line = (what: string, at: number) => ({
        ...{ what, unit: "ms" as const },
        ...{ ours: percentile(ours, at), floor: percentile(floor, at) },
      });
      return {
        lines: [
          { ...line("read forwarded by the edge, p50", 50), goal: { aboveFloorAtMost: 2 } },
          { ...line("read forwarded by the edge, p99", 99), goal: { none: "–" } },
        ],
      };
    } finally {
      agent.destroy();
      await parts.close();
    }
  },
};

/** Answers how long it took, in milliseconds. */
function ask(agent: Agent, url: string, headers: Record<string, string>): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent, headers }, (answer) => {
      answer.resume();
      answer.once("end", () => {
        if (answer.statusCode === 200) resolve(performance.now() - startedMs);
        else reject(new Error(`${url} answered ${answer.statusCode}`));
      });
    });
    asking.once("error", reject);
    asking.end();
  });
}
