/**
 * Vitest's set-up of the lab project: engine and images once, one managed server and one git host for all test files.
 * Tests that damage a server, or need a bare one, start their own. Without an engine the tests are skipped and the
 * reason is printed; with `CI=true` the run fails instead.
 */
import type { TestProject } from "vitest/node";
import { type LabDescription, labAvailability, openLab } from "./lab.ts";
import type { ServerDescription } from "./server.ts";

export type SharedLabAnswer =
  | { available: false; reason: string }
  | { available: true; lab: LabDescription; server: ServerDescription };

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
    const [server, description] = await Promise.all([lab.server({ name: "shared" }), lab.describe()]);
    project.provide("lab", { available: true, lab: description, server: onlyData(server) });
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
