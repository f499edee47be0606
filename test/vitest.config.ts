/**
 * Two projects: `unit` (real Postgres, no lab) and `lab` (managed servers; needs an engine). Lab files run one after
 * another: they share a server and the machine has few cores.
 */
import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

const set = (path: string) => (existsSync(new URL(path, import.meta.url)) ? [path] : []);

export default defineConfig({
  test: {
    root: new URL(".", import.meta.url).pathname,
    globalSetup: set("./global-set-up.ts"),
    reporters: ["default"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: ["**/*.lab.test.ts", "**/*.soak.test.ts", "lab/**"],
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: "lab",
          include: ["**/*.lab.test.ts", "lab/**/*.test.ts"],
          globalSetup: set("./lab/global-set-up.ts"),
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
