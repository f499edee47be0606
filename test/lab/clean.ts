/**
 * Removing what the lab made on the engine, by label alone: a thing without our label is never touched. A run whose
 * owner is dead is a left-over; that of a living process, or one kept by `lab up`, is not.
 */
import { docker, tryDocker } from "./docker.ts";
import { keptOwner, labLabel, ownerKey, ownerLives, runKey } from "./labels.ts";

export interface LabThing {
  kind: "container" | "volume" | "network";
  name: string;
  runId: string;
  owner: string;
}

/** Everything on the engine that belongs to a run. */
export async function listRunThings(): Promise<LabThing[]> {
  const format = `{{.NAME}}|{{.Label "${runKey}"}}|{{.Label "${ownerKey}"}}`;
  const list = async (kind: LabThing["kind"], command: string[], nameField: string): Promise<LabThing[]> => {
    const filter = ["--filter", `label=${runKey}`, "--format", format.replace("NAME", nameField)];
    const lines = (await docker([...command, ...filter])).split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const [name = "", runId = "", owner = ""] = line.split("|");
      return { kind, name, runId, owner };
    });
  };
  const containers = await list("container", ["ps", "-a"], "Names");
  const volumes = await list("volume", ["volume", "ls"], "Name");
  const networks = await list("network", ["network", "ls"], "Name");
  return [...containers, ...volumes, ...networks];
}

export async function removeRun(runId: string): Promise<void> {
  await removeThings((await listRunThings()).filter((thing) => thing.runId === runId));
}

/** What dead runs left. Answers how many things were removed. */
export async function removeLeftOvers(): Promise<number> {
  return removeThings((await listRunThings()).filter((thing) => !ownerLives(thing.owner)));
}

/** What `lab up` keeps. */
export async function removeKept(): Promise<number> {
  return removeThings((await listRunThings()).filter((thing) => thing.owner === keptOwner));
}

/** Every run, living or not, and every image and prepared volume. */
export async function removeEverything(): Promise<void> {
  await removeThings(await listRunThings());
  const ours = ["--filter", `label=${labLabel}`];
  for (const container of await names(["ps", "-aq", ...ours])) await docker(["rm", "-f", "-v", container]);
  for (const volume of await names(["volume", "ls", "-q", ...ours]))
    await docker(["volume", "rm", "-f", volume]);
  const tags = await names(["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "slipway-lab/*"]);
  for (const tag of tags.filter((tag) => !tag.endsWith(":<none>"))) await docker(["image", "rm", "-f", tag]);
  await docker(["image", "prune", "-f", ...ours]);
}

/** Containers first: they hold the volumes and the networks. */
async function removeThings(things: readonly LabThing[]): Promise<number> {
  const commands = {
    container: ["rm", "-f", "-v"],
    volume: ["volume", "rm", "-f"],
    network: ["network", "rm"],
  };
  for (const kind of ["container", "volume", "network"] as const) {
    const found = things.filter((thing) => thing.kind === kind).map((thing) => thing.name);
    // Another process may have removed one of them in the meantime; what matters is checked by the next listing.
    if (found.length > 0) await tryDocker([...commands[kind], ...found], { deadlineMs: 120_000 });
  }
  return things.length;
}

async function names(args: readonly string[]): Promise<string[]> {
  return (await docker(args)).split("\n").filter((line) => line !== "");
}
