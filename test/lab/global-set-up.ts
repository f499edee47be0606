/**
 * Vitest's set-up of the lab project: engine and images once, one git host, and one managed server for each worker, so
 * that files run side by side and none meets another on its server.
 * Tests that damage a server, or need a bare one, start their own. Without an engine the tests are skipped and the
 * reason is printed; with `CI=true` the run fails instead.
 */
import type { TestProject } from "vitest/node";
import { type LabDescription, labAvailability, openLab } from "./lab.ts";
import type { ServerDescription } from "./server.ts";

export type SharedLabAnswer =
  | { available: false; reason: string }
  | { available: true; lab: LabDescription; servers: ServerDescription[] };

declare module "vitest" {
  interface ProvidedContext {
    lab: SharedLabAnswer;
  }
}

export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const say = (line: string) => void process.stderr.write(`lab: ${line}\n`);
  const answer = await labAvailability(say);
  if (!answer.available) {
    say(`not available, its tests are skipped: ${answer.reason}`);
    project.provide("lab", answer);
    return undefined;
  }
  const lab = await openLab({ say });
  try {
    const description = await lab.describe();
    const names = Array.from({ length: project.config.maxWorkers }, (_, index) => `shared-${index + 1}`);
    const servers = await Promise.all(names.map((name) => lab.server({ name })));
    project.provide("lab", { available: true, lab: description, servers: servers.map(onlyData) });
  } catch (error) {
    await lab.close();
    throw error;
  }
  return () => lab.close();
}

/** Functions cannot cross to the workers. */
function onlyData(server: ServerDescription): ServerDescription {
  return JSON.parse(JSON.stringify(server)) as ServerDescription;
}
