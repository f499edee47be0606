/** What of a service is shown. Columns are named: values of its environment never leave. */
import type { projectServices } from "../../../shared/db/project-tables.ts";
import type { PlatformParts } from "../parts.ts";
import { openVariables, showVariables } from "./environment.ts";

export type ServiceRow = typeof projectServices.$inferSelect;

export async function showService(parts: PlatformParts, row: ServiceRow) {
  const { id, projectId, name, image, ports, dependsOn, volumes, watchPaths, command, healthCheck } = row;
  return {
    id,
    projectId,
    name,
    image,
    build: row.build ?? null,
    ports,
    dependsOn,
    volumes,
    watchPaths,
    command,
    healthCheck,
    updateStrategy: row.updateStrategy ?? null,
    resources: row.resources,
    environment: await showVariables(parts, row, await openVariables(parts, row)),
    createdAt: row.createdAt.toISOString(),
  };
}
