/** Deliveries that are accepted by the worker in workerd, beside a worker that does nothing but one insert. */
import { startCloudShape } from "../../demo/cloud-shape.ts";
import { createClient } from "../../demo/main-job.ts";
import { startNeonProxy } from "../../neon-proxy.ts";
import { startWranglerDev } from "../../wrangler-dev.ts";
import { load } from "../load.ts";
import { linkQuietProject } from "../quiet-project.ts";
import type { Row } from "../row.ts";
import { deliveries } from "../webhook-load.ts";

export const webhookWorkerd: Row = {
  name: "webhook-workerd",
  what: "the same on workerd, database behind Neon's protocol; floor: a bare worker that does one insert over the Neon driver",
  async measure(stage) {
    const cloud = await startCloudShape(stage.say);
    try {
      const project = await linkQuietProject(createClient({ baseUrl: cloud.url, token: cloud.token }));
      // Of its own: it makes a table, which the edge's role may not.
      const neon = await startNeonProxy(() => cloud.databaseUrl);
      const floorWorker = await startWranglerDev({
        script: "test/bench/floor-worker.ts",
        variables: {
          DATABASE_URL: "postgres://edge:secret@neon.local/slipway",
          SLIPWAY_NEON_ENDPOINT: neon.endpoint,
        },
      });
      try {
        const wanted = { ...deliveries(project, "well"), requests: stage.quick ? 1_000 : 5_000 };
        const floor = await load({ ...wanted, port: Number(new URL(floorWorker.url).port) });
        const ours = await load({ ...wanted, port: Number(new URL(cloud.url).port) });
        return {
          lines: [
            {
              what: "webhooks accepted on workerd",
              unit: "/s",
              ours: ours.perSecond,
              floor: floor.perSecond,
              goal: { ratioAtLeast: 0.5 },
            },
          ],
          notes: [
            `median ${ours.p50Ms.toFixed(1)} ms, floor ${floor.p50Ms.toFixed(1)} ms; p99 ${ours.p99Ms.toFixed(1)} and ${floor.p99Ms.toFixed(1)} ms`,
            "two statements each of ours: the count of the source, and the delivery with the check of its projects",
          ],
        };
      } finally {
        await floorWorker.stop();
        await neon.close();
      }
    } finally {
      await cloud.close();
    }
  },
};
