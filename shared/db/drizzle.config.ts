import { defineConfig } from "drizzle-kit";

/** `npm run migration -- --name what-it-does` writes the next forward migration; review the SQL by hand. */
export default defineConfig({
  dialect: "postgresql",
  schema: "./shared/db/*-tables.ts",
  out: "./shared/db/migrations",
  casing: "snake_case",
});
