/** Deliveries that are accepted, which means stored for good, beside a server that only checks the signature. */
import { startFloorServer } from "../floor-server.ts";
import { load } from "../load.ts";
import type { Row } from "../row.ts";
import { deliveries } from "../webhook-load.ts";

export const webhook: Row = {
  name: "webhook",
  what: "webhooks accepted (durable) at 16 connections, 10 kB; floor: bare node:http that checks the HMAC",
  async measure(stage) {
    const project = await stage.quietProject();
    const { process } = await stage.platform();
    const requests = stage.quick ? 2_000 : 20_000;
    const floorServer = await startFloorServer("./floor-webhook.ts", project.secret);
    try {
      const wanted = { ...deliveries(project, "well"), requests };
      // Uncounted. Node compiles for some twenty thousand of them, and a platform is up for weeks.
      const cold = await load({ ...wanted, port: Number(new URL(process.url).port) });
      await load({ ...wanted, port: floorServer.port });
      const floor = await load({ ...wanted, port: floorServer.port });
      const ours = await load({ ...wanted, port: Number(new URL(process.url).port) });
      return {
        lines: [
          {
            what: "webhooks accepted",
            unit: "/s",
            ours: ours.perSecond,
            floor: floor.perSecond,
            goal: { ratioAtLeast: 0.25 },
          },
          {
            what: "webhook accepted, p99",
            unit: "ms",
            ours: ours.p99Ms,
            floor: floor.p99Ms,
            goal: { atMost: 50 },
          },
        ],
        notes: [
          `median ${ours.p50Ms.toFixed(1)} ms, floor ${floor.p50Ms.toFixed(1)} ms`,
          `both warm; the ${requests} before them, right after the start: ${cold.perSecond.toFixed(0)} /s`,
        ],
      };
    } finally {
      await floorServer.stop();
    }
  },
};
