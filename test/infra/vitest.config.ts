/** The cloud's resources, on Pulumi's mocks: only where SST's own sources were fetched (`npm run infra:check`). */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { root: new URL(".", import.meta.url).pathname, testTimeout: 60_000, hookTimeout: 120_000 },
});
