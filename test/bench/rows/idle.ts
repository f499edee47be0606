/** What it costs to have it: memory when nothing happens, and how long a start takes. */
import { makeDataFolder, removeDataFolder, startPlatform } from "../../demo/platform-process.ts";
import { proportionalMB } from "../memory.ts";
import type { Row } from "../row.ts";

export const idle: Row = {
  name: "idle",
  what: "memory of platform and database when idle, and the time of a start",
  async measure(stage) {
    const dataFolder = await makeDataFolder();
    try {
      const first = await startPlatform({ dataFolder });
      await first.stop();
      const second = await startPlatform({ dataFolder });
      try {
        const idleMs = stage.quick ? 10_000 : 60_000;
        await new Promise((resolve) => setTimeout(resolve, idleMs));
        const { platform, database } = proportionalMB(second.pid, dataFolder);
        return {
          lines: [
            {
              what: "idle memory (PSS)",
              unit: "MB",
              ours: platform + database,
              floor: null,
              goal: { atMost: 200 },
            },
            {
              what: "second start to ready",
              unit: "ms",
              ours: second.readyMs,
              floor: null,
              goal: { atMost: 2_000 },
            },
            {
              what: "first start to ready",
              unit: "ms",
              ours: first.readyMs,
              floor: null,
              goal: { none: "told" },
            },
          ],
          notes: [
            `platform ${platform.toFixed(0)} MB, database ${database.toFixed(0)} MB after ${idleMs / 1000} s`,
          ],
        };
      } finally {
        await second.stop();
      }
    } finally {
      await removeDataFolder(dataFolder);
    }
  },
};
