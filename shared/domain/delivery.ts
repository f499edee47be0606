/** Words of the delivery inbox (decisions.md section 5). */
export const deliveryStatuses = ["received", "claimed", "done", "failed", "ignored"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const deliveryVerdicts = ["project_secret", "instance_secret"] as const;
/** Whose secret made the signature. */
export type DeliveryVerdict = (typeof deliveryVerdicts)[number];

/** What came of a delivery for one project, as it is stored. */
export type DeliveryOutcome =
  | { projectId: string; verdict: "skipped"; reason: string }
  | { projectId: string; verdict: "deployed"; deploymentId: string }
  /** To the linked cloud; where it went there is known once the cloud has taken it. */
  | { projectId: string; verdict: "forwarded"; cloudProjectId?: string | null; cloudUrl?: string };

/** A person had a delivery handled again. */
export interface DeliveryReplay {
  /** The user. */
  by: string;
  /** ISO 8601. */
  at: string;
  /** Deploy although the push is the project's newest deployment already, or an old one. */
  force: boolean;
  /** For these projects alone, where the person's token sees no others. */
  projectIds: string[] | null;
}

/** Why a delivery, or one project of it, deployed nothing, in a sentence that says what to do. */
const reasons: Readonly<Record<string, string>> = {
  no_event_header: "It names no event; the git host sends X-Provider-Event or X-GitHub-Event.",
  ping: "A ping proves that address and secret are right; it deploys nothing.",
  event_not_handled: "Only pushes deploy.",
  malformed_push: "It is no push that can be read: ref, before or after is missing or wrong.",
  not_a_branch: "The push is of a tag or another ref; only branches deploy.",
  invalid_ref: "Its ref is no branch name that git allows; nothing is done with it.",
  branch_deleted: "The push deleted a branch.",
  no_matching_project: "No project matched; each one has its own reason.",
  auto_deploy_off: "The project does not deploy by itself; turn autoDeploy on, or deploy it by hand.",
  no_default_branch: "The project names no branch and the delivery no default branch; give the project one.",
  other_branch: "The project deploys another branch.",
  services_not_deployable: "Projects with services are not deployed yet.",
  duplicate_push: "This push is the project's newest deployment already; replay with force deploys it again.",
  stale:
    "The branch has moved on since, and a later commit was deployed; replay with force deploys this one.",
  project_gone: "The project was deleted meanwhile.",
  local_project_matched: "A project here deploys this branch, so the push stays here.",
  waits_to_be_forwarded: "It goes to the linked cloud in a moment.",
  forwarded_to_cloud: "The linked cloud has taken it; its own inbox says what came of it.",
  cloud_not_linked: "The project lives in the cloud, and no account is linked; it is tried again.",
  cloud_unreachable: "The linked cloud could not be reached; it is tried again.",
  cloud_refused_signature:
    "The linked cloud does not know the secret that signed this push; its project was deleted or linked anew there.",
  handler_failed: "Handling it failed here; it is tried again, and the platform's log has the cause.",
  gave_up: "Handling it failed too often; the platform's log has the cause. Replay it when that is gone.",
};

export function explainReason(reason: string): string {
  const status = /^cloud_answered_(\d+)$/.exec(reason)?.[1];
  if (status !== undefined) return `The linked cloud did not take it; it answered ${status}.`;
  return reasons[reason] ?? "It deployed nothing.";
}
