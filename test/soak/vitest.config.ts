/**
 * The long runs, apart from `npm test`: whole matrices and thousands of repeats, on the same real parts. One file after
 * another, since they share a server, and with an end of their own: a fault that hangs must not hang the run.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    name: "soak",
    include: ["soak/**/*.soak.test.ts"],
    globalSetup: ["./global-set-up.ts", "./lab/global-set-up.ts"],
    reporters: ["verbose"],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
