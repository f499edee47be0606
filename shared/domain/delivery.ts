/** Words of the delivery inbox (decisions.md section 5). */
export const deliveryStatuses = ["received", "claimed", "done", "failed", "ignored"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const deliveryVerdicts = ["project_secret", "instance_secret"] as const;
/** Whose secret made the signature. */
export type DeliveryVerdict = (typeof deliveryVerdicts)[number];

/** What came of a delivery for one project, as it is stored. */
export type DeliveryOutcome =
  | { projectId: string; verdict: "skipped"; reason: string }
  | { projectId: string; verdict: "deployed"; deploymentId: string };

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
