/**
 * Three projects: `unit` (real Postgres, no lab), `workerd` (the edge's own suites once more, in Cloudflare's runtime)
 * and `lab` (managed servers; needs an engine). All in one queue, two files at a time: what waits for a server leaves the
 * machine to the others. Rejected: three on two cores, where each takes half as long again and nothing is won.
 */
import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { LongFirst } from "./long-first.ts";

const set = (path: string) => (existsSync(new URL(path, import.meta.url)) ? [path] : []);

export default defineConfig({
  test: {
    root: new URL(".", import.meta.url).pathname,
    globalSetup: set("./global-set-up.ts"),
    reporters: ["default"],
    maxWorkers: 2,
    sequence: { sequencer: LongFirst },
    // As the platform itself starts: most of what a file imports is one library, which takes 0.8 s of the processor otherwise.
    execArgv: ["--import", new URL("../functions/quick-imports.ts", import.meta.url).href],
    // The machine of a gate stalls now and then, and these are real servers. Both runs stand in the log ("retry x1"); here
    // at home the first failure counts.
    retry: process.env["CI"] === "true" ? 1 : 0,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          // infra needs the sources of SST: `npm run infra:check`.
          exclude: ["**/*.lab.test.ts", "**/*.soak.test.ts", "lab/**", "infra/**"],
          // Far above what any of them takes: a loaded machine is no failure.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "workerd",
          include: ["edge/**/*.test.ts"],
          // Of one host alone, or of pure functions.
          exclude: [
            "edge/{node,memory-limiter,observe,reference,source-ip,worker-environment}.test.ts",
            "edge/adapters/**",
          ],
          globalSetup: set("./edge/workerd/global-set-up.ts"),
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "lab",
          include: ["**/*.lab.test.ts", "lab/**/*.test.ts"],
          globalSetup: set("./lab/global-set-up.ts"),
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
