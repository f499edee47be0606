/**
 * What a deployment may do on a server that is not its organization's: the operator's pool (decisions/0014). It follows
 * from the two rows alone, at the time of each deployment and rollback, so that no snapshot and no setting of a project
 * can leave it behind. The projects of a pool share a kernel; everything here keeps them from the host's own network
 * and from each other's.
 */
import { hidePoolServer } from "../../shared/db/hide-pool-server.ts";
import type { PoolLimits } from "../../shared/domain/pool.ts";
import type { Resources } from "../../shared/domain/project.ts";
import { OutgoingFailure } from "../../shared/ports/outgoing.ts";
import { DeployFailure } from "./failure.ts";
import { serverUnreachableCode } from "./pipeline/hand.ts";
import type { BuildPlan } from "./pipeline/plan.ts";

export interface PoolRules extends PoolLimits {
  /** Checked addresses of a host that a user gave, none of them private. Throws `OutgoingFailure`. */
  publicAddresses: (host: string) => Promise<string[]>;
}

interface Owned {
  organizationId: string;
}

/** The rules that hold, or null on the organization's own server. */
export function rulesFor(server: Owned, deployment: Owned, pool: PoolRules): PoolRules | null {
  return server.organizationId === deployment.organizationId ? null : pool;
}

/** What a container gets: a project may ask for less than the pool gives, never for more. */
export function cappedBy(rules: PoolRules | null, resources: Resources): Resources & { pids?: number } {
  if (rules === null) return resources;
  const least = (asked: number | undefined, given: number) => Math.min(asked ?? given, given);
  return {
    cpus: least(resources.cpus, rules.cpus),
    memoryMB: least(resources.memoryMB, rules.memoryMB),
    pids: rules.pids,
  };
}

/**
 * A Dockerfile of one's own is refused: the engine itself fetches what `ADD` names, from the host's network, where every
 * neighbour's loopback port, every container and the machine's metadata answer, and a base image's `ONBUILD` can say it
 * just as well. `FROM` would also take a neighbour's image by its name.
 */
export function requireOurPlan(rules: PoolRules | null, plan: BuildPlan): void {
  if (rules === null || plan.dockerfile.kind === "generated") return;
  throw new DeployFailure(
    "dockerfile_not_on_pool",
    "A Dockerfile of one's own is not built on the pool of this cloud.",
    "Set buildStrategy to framework or static, or add a server of your own and create the project there.",
  );
}

export interface PinnedUrl {
  url: string;
  /** What git connects to: for http its own `host:port:address`, for SSH the address; empty: whatever it finds. */
  pin: string;
}

/**
 * The source is fetched by the host itself, so its address must be a public one, and what was checked is what git
 * connects to. The URL is written as it was understood here: git reads some spellings otherwise.
 */
export async function pinned(rules: PoolRules | null, cloneUrl: string): Promise<PinnedUrl> {
  if (rules === null) return { url: cloneUrl, pin: "" };
  const { protocol, hostname, port, href: url } = new URL(cloneUrl);
  const addresses = await publicAddresses(rules, hostname);
  if (protocol === "ssh:") return { url, pin: addresses[0] ?? "" };
  const bracketed = addresses.map((each) => (each.includes(":") ? `[${each}]` : each));
  return { url, pin: `${hostname}:${port || (protocol === "https:" ? "443" : "80")}:${bracketed.join(",")}` };
}

async function publicAddresses(rules: PoolRules, hostname: string): Promise<string[]> {
  try {
    const addresses = await rules.publicAddresses(hostname);
    if (addresses.length > 0) return addresses;
    throw new OutgoingFailure("unresolved", `The name ${hostname} has no address.`);
  } catch (error) {
    if (!(error instanceof OutgoingFailure)) throw error;
    throw new DeployFailure(
      error.kind === "refused_target" ? "git_host_refused" : "git_unreachable",
      error.message,
      "The pool of this cloud fetches from public git hosts only.",
    );
  }
}

/** Failures whose way out is the server's or its registries', which the project's people do not have. */
const ofOperator: ReadonlySet<string> = new Set([
  serverUnreachableCode,
  "server_not_ready",
  "disk_full",
  "image_not_allowed",
]);

/** What the project's people are told of a failure. */
export function toldOf(rules: PoolRules | null, error: unknown): unknown {
  if (rules === null) return error;
  if (!(error instanceof DeployFailure) || !ofOperator.has(error.code)) return hidePoolServer(error);
  const hint = "Deploy again later; if it stays so, tell whoever runs this cloud.";
  const told = new DeployFailure(error.code, error.message, hint, error.logTail);
  told.cause = error.cause;
  return told;
}
