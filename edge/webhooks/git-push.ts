/**
 * From a verified push to a plan: which projects deploy, and for every other one why not. A pure function, so that the
 * sweeper comes to the same plan from the stored row as the first try did. (spec.md "Push handling")
 */
import { z } from "zod";
import { branch as branchName } from "../../shared/contract/common.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import { servicesNotDeployable } from "../../shared/domain/project.ts";
import type {
  DeliveryPlan,
  LinkedProject,
  PlannedOutcome,
  Push,
  VerifiedDelivery,
} from "../../shared/ports/edge-store.ts";

const heads = "refs/heads/";
const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);

const pushPayload = z.object({
  ref: z.string().max(500),
  before: sha,
  after: sha,
  deleted: z.boolean().nullish(),
  repository: z.object({ default_branch: z.string().max(500).nullish() }),
  head_commit: z.object({ message: z.string().nullish() }).nullish(),
});

export function planDelivery(
  event: string | null,
  payload: unknown,
  projects: readonly LinkedProject[],
): DeliveryPlan {
  if (event === null) return ignored("no_event_header");
  if (event === "ping") return ignored("ping");
  if (event !== "push") return ignored("event_not_handled");
  const parsed = pushPayload.safeParse(payload);
  if (!parsed.success) return ignored("malformed_push");
  const { ref, before, after, deleted, repository, head_commit } = parsed.data;
  if (!ref.startsWith(heads)) return ignored("not_a_branch", projects);
  const branch = branchOf(ref);
  if (branch === null) return ignored("invalid_ref", projects);
  if (deleted === true || /^0+$/.test(after)) return ignored("branch_deleted", projects);
  const push: Push = {
    branch,
    beforeSha: before,
    commitSha: after,
    commitMessage: plainMessage(head_commit?.message),
  };
  const outcomes = projects.map((project) => outcomeOf(project, push, repository.default_branch ?? null));
  if (outcomes.some((outcome) => outcome.verdict === "deployed")) {
    return { reason: null, outcomes: outcomes.map(notForwarded) };
  }
  if (outcomes.some((outcome) => outcome.verdict === "forwarded")) {
    return { reason: "waits_to_be_forwarded", outcomes };
  }
  return { reason: "no_matching_project", outcomes };
}

/** Of a push, for whoever looks for it in the inbox; not what is deployed. */
export function namedBy(
  event: string | null,
  payload: unknown,
): Pick<VerifiedDelivery, "branch" | "commitSha"> {
  const parsed = event === "push" ? pushPayload.safeParse(payload) : undefined;
  if (parsed?.success !== true) return { branch: null, commitSha: null };
  const { ref, after } = parsed.data;
  return { branch: ref.startsWith(heads) ? branchOf(ref) : null, commitSha: after };
}

/** By the same rules as a project's; null: git would not have it, so no column and no command gets it. */
function branchOf(ref: string): string | null {
  return branchName.safeParse(ref.slice(heads.length)).data ?? null;
}

function outcomeOf(project: LinkedProject, push: Push, defaultBranch: string | null): PlannedOutcome {
  const skipped = (reason: string): PlannedOutcome => ({ projectId: project.id, verdict: "skipped", reason });
  if (!project.autoDeploy) return skipped("auto_deploy_off");
  const wanted = project.branch ?? defaultBranch;
  if (wanted === null) return skipped("no_default_branch");
  if (wanted !== push.branch) return skipped("other_branch");
  if (project.location === "cloud") return { projectId: project.id, verdict: "forwarded" };
  if (project.kind !== "app") return skipped(servicesNotDeployable);
  return { projectId: project.id, verdict: "deployed", deploymentId: newId("deployment"), push };
}

/** A push goes to the cloud only where no project here takes it. (spec.md "Push handling" 6) */
function notForwarded(outcome: PlannedOutcome): PlannedOutcome {
  if (outcome.verdict !== "forwarded") return outcome;
  return { projectId: outcome.projectId, verdict: "skipped", reason: "local_project_matched" };
}

function ignored(reason: string, projects: readonly LinkedProject[] = []): DeliveryPlan {
  const outcomes = projects.map((project) => ({
    projectId: project.id,
    verdict: "skipped" as const,
    reason,
  }));
  return { reason, outcomes };
}

/** A message of a stranger, fit for a column and a line: bounded, no control characters, well formed. */
function plainMessage(message: string | null | undefined): string | null {
  if (message === null || message === undefined) return null;
  const bounded = message.slice(0, limits.commitMessageLength).toWellFormed();
  return bounded.replace(/[^\P{Cc}\n\t]/gu, "").trim();
}
