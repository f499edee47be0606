/** An authenticated read through edge, module and database, beside one route that answers from memory. */
import { startFloorServer } from "../floor-server.ts";
import { load } from "../load.ts";
import type { Row } from "../row.ts";

export const read: Row = {
  name: "read",
  what: "GET /api/projects/:id with a token at 16 connections; floor: bare Hono route",
  async measure(stage) {
    const project = await stage.quietProject();
    const { process, token } = await stage.platform();
    const requests = stage.quick ? 2_000 : 20_000;
    const path = `/api/projects/${project.id}`;
    const authorization = { authorization: `Bearer ${token}` };
    const answer = await fetch(new URL(path, process.url), { headers: authorization });
    if (!answer.ok) throw new Error(`The project could not be read: ${answer.status}`);
    const floorServer = await startFloorServer("./floor-read.ts", await answer.text());
    try {
      const wanted = {
        connections: 16,
        requests,
        head: [`GET ${path} HTTP/1.1`, "Host: localhost", `Authorization: ${authorization.authorization}`],
        status: 200,
      };
      const floor = await load({ ...wanted, port: floorServer.port });
      const ours = await load({ ...wanted, port: Number(new URL(process.url).port) });
      return {
        lines: [
          {
            what: "authenticated reads",
            unit: "/s",
            ours: ours.perSecond,
            floor: floor.perSecond,
            goal: { ratioAtLeast: 0.1 },
          },
          {
            what: "authenticated read, p99",
            unit: "ms",
            ours: ours.p99Ms,
            floor: floor.p99Ms,
            goal: { atMost: 20 },
          },
        ],
      };
    } finally {
      await floorServer.stop();
    }
  },
};
