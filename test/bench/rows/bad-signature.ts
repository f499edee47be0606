/** What a stranger costs: a delivery with a bad signature beside a good one. */
import { load } from "../load.ts";
import type { Row } from "../row.ts";
import { deliveries } from "../webhook-load.ts";

export const badSignature: Row = {
  name: "bad-signature",
  what: "a delivery with a bad signature; floor: a good one",
  async measure(stage) {
    const project = await stage.quietProject();
    const { process } = await stage.platform();
    const port = Number(new URL(process.url).port);
    const requests = stage.quick ? 2_000 : 10_000;
    const good = await load({ ...deliveries(project, "well"), requests, port });
    const bad = await load({ ...deliveries(project, "badly"), requests, port });
    return {
      lines: [
        {
          what: "bad signature refused",
          unit: "µs",
          ours: 1e6 / bad.perSecond,
          floor: 1e6 / good.perSecond,
          goal: { ratioAtMost: 1 },
        },
      ],
      notes: ["time of the server for each, from the rate at 16 connections"],
    };
  },
};
