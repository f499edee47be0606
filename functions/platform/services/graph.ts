/** Whether services can be started one after the other: every dependency is there, and none waits for itself. Pure. */
import { invalid } from "../../../shared/domain/refusal.ts";

export interface Dependent {
  name: string;
  dependsOn: readonly string[];
}

/** `all` as it would be; throws 400 naming `body.dependsOn`. Only `changed` can have made it wrong. */
export function requireOrder(all: readonly Dependent[], changed: Dependent): void {
  const byName = new Map(all.map((service) => [service.name, service]));
  for (const [at, name] of changed.dependsOn.entries()) {
    if (name === changed.name)
      throw invalid(`body.dependsOn.${at}`, "is the service itself", "dependency_cycle");
    if (!byName.has(name)) {
      const known = all.map((service) => service.name).filter((each) => each !== changed.name);
      const list = known.length === 0 ? "there is none yet" : `there are ${known.slice(0, 20).join(", ")}`;
      throw invalid(`body.dependsOn.${at}`, `names no service of this project; ${list}`, "unknown_service");
    }
  }
  const way = wayBack(byName, changed);
  if (way === null) return;
  throw invalid("body.dependsOn", `would be a cycle: ${way.join(" → ")}`, "dependency_cycle");
}

/** Depth first from the changed service; the way by which it comes back to itself, or null. */
function wayBack(byName: ReadonlyMap<string, Dependent>, start: Dependent): string[] | null {
  const seen = new Set<string>();
  const open: string[][] = start.dependsOn.map((name) => [start.name, name]);
  for (let way = open.pop(); way !== undefined; way = open.pop()) {
    const last = way.at(-1) ?? "";
    if (last === start.name) return way;
    if (seen.has(last)) continue;
    seen.add(last);
    for (const next of byName.get(last)?.dependsOn ?? []) open.push([...way, next]);
  }
  return null;
}
