/**
 * All that the edge asks of the database. Each method is one statement, or one batch of statements that need no answer
 * of each other, so that a driver without interactive transactions (HTTP) can serve it as well, under a database role
 * that sees no more than this. Sealed values stay sealed here.
 */
import type { DeliveryReplay, DeliveryVerdict } from "../domain/delivery.ts";
import type { Permission, Role } from "../domain/permission.ts";
import type { ProjectKind, ProjectLocation } from "../domain/project.ts";

export interface EdgeStore {
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  /** The credential that holds now (not revoked, not expired, its user still a member), or null. */
  findCredential(tokenHash: string): Promise<StoredCredential | null>;
  /** Sets the last use, at most once a minute. */
  touchCredential(credentialId: string): Promise<void>;
  /**
   * The session that holds now, under the membership in the organization that is asked for (null: the oldest one).
   * `not_a_member`: the session holds, but not there.
   */
  findSession(hash: string, organizationId: string | null): Promise<StoredCredential | "not_a_member" | null>;
  /** Moves the end of a session on. */
  touchSession(sessionId: string): Promise<void>;
  idempotency: IdempotencyStore;
  inbox: InboxStore;
}

/** A token or a session, with the membership under which it acts. */
export interface StoredCredential {
  id: string;
  organizationId: string;
  userId: string;
  role: Role;
  /** null: all that its maker may do. */
  permissions: Permission[] | null;
  projectIds: string[] | null;
  serverIds: string[] | null;
  expiresAtMs: number | null;
}

/** A request with an Idempotency-Key: whose, under which key, for what. */
export interface IdempotentRequest {
  organizationId: string;
  credentialId: string;
  /** SHA-256, hex. */
  keyHash: string;
  requestHash: string;
}

export interface FirstAnswer {
  requestHash: string;
  /** null: under way, or cut off. */
  sealedAnswer: string | null;
  ageMs: number;
}

export interface IdempotencyStore {
  /** Exactly one of any number of callers at the same moment gets the claim; the others what is known of the first. */
  claim(request: IdempotentRequest): Promise<"claimed" | FirstAnswer>;
  /** Adds the answer to a claim. */
  keep(request: IdempotentRequest, sealedAnswer: string): Promise<void>;
  /** Gives a claim back: nothing was done. */
  release(request: IdempotentRequest): Promise<void>;
  /** Deletes what is older than a day. */
  purge(): Promise<void>;
}

export interface InboxStore {
  /**
   * The first `most` projects linked to `repository` (`owner/repo`, lower case): that of `hookId`, then those with a
   * secret, then the others. Fewer than `most` are all of them.
   */
  hookedProjects(repository: string, hookId: string | null, most: number): Promise<HookedProject[]>;
  /** All projects linked to `repository` for which a delivery of this trust may act. */
  linkedProjects(repository: string, trust: Trust): Promise<LinkedProject[]>;
  /**
   * Stores the delivery and claims it, one row an organization (null: of none). Answers the rows claimed by this call:
   * a row that is claimed or done already is left out, a failed one and one whose claim ran out are taken over. For an
   * organization in `ignored` the row is written with that outcome at once, and there is nothing left to settle.
   * With `lookUp`, all of it only as long as `hookedProjects` would still answer the same; else "changed", and nothing
   * is stored.
   */
  claim(
    delivery: VerifiedDelivery,
    organizationIds: readonly (string | null)[],
    ignored?: ReadonlyMap<string | null, DeliveryPlan>,
    lookUp?: LookUp,
  ): Promise<Claim[] | "changed">;
  /**
   * Writes the outcome of a claim together with the deployments that follow from it, all or nothing. A push that is
   * the newest deployment of its project already makes no second one, nor does one that the branch has moved on from;
   * a replay may ask for it all the same. Answers null when the claim was lost meanwhile.
   */
  settle(claim: Claim, plan: DeliveryPlan): Promise<SettledDelivery | null>;
  /** Marks a claim failed, to be tried again later. */
  fail(claim: Claim, reason: string): Promise<void>;
  /** Tells the projects linked to `repository` that its deliveries are refused; at most once an hour each. */
  reportRejected(repository: string): Promise<void>;
  /** Claims up to `most` deliveries that were left over: failed ones whose time has come, and claims that ran out. */
  reclaim(most: number): Promise<Reclaimed[]>;
  /**
   * Claims a stored delivery for a person who wants it handled again; null: it is being handled right now, or it is for
   * some projects only while the others are still to get it.
   */
  replay(id: string, replay: DeliveryReplay): Promise<Reclaimed | null>;
  /** Lets every claim run out now. Only for who can prove that nobody else is at work on this database. */
  endClaimsOfTheDead(): Promise<void>;
}

/** Whose word a verified delivery is: of organizations, by a secret of one of their projects, or of the instance. */
export type Trust = { by: "project_secret"; organizationIds: readonly string[] } | { by: "instance_secret" };

/** A stored delivery that is handled once more. */
export interface Reclaimed extends Claim {
  delivery: VerifiedDelivery;
  replay: DeliveryReplay | null;
}

export interface LinkedProject {
  id: string;
  organizationId: string;
  kind: ProjectKind;
  autoDeploy: boolean;
  /** null: the default branch of the repository. */
  branch: string | null;
  location: ProjectLocation;
}

export interface HookedProject extends LinkedProject {
  sealedSecret: string | null;
}

/** What `hookedProjects` was asked once, and what it answered. */
export interface LookUp {
  repository: string;
  hookId: string | null;
  most: number;
  projects: readonly HookedProject[];
}

export interface VerifiedDelivery {
  provider: string;
  deliveryId: string;
  event: string | null;
  /** `owner/repo` in lower case, and of a push its branch and commit, for whoever looks for it later. */
  repository: string | null;
  branch: string | null;
  commitSha: string | null;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  verdict: DeliveryVerdict;
}

/** Held for `limits.deliveryLeaseMs`; `attempt` fences out an owner whose claim was taken over. */
export interface Claim {
  id: string;
  organizationId: string | null;
  attempt: number;
}

export interface DeliveryPlan {
  /** Why nothing is deployed; null when something is. */
  reason: string | null;
  outcomes: PlannedOutcome[];
}

export type PlannedOutcome =
  | { projectId: string; verdict: "skipped"; reason: string }
  /** Deployed by the linked cloud; the deploy function hands the delivery on. */
  | { projectId: string; verdict: "forwarded" }
  | { projectId: string; verdict: "deployed"; deploymentId: string; push: Push };

/** What a push deployment is made from. */
export interface Push {
  branch: string;
  beforeSha: string;
  commitSha: string;
  commitMessage: string | null;
}

export interface SettledDelivery {
  /** `received`: it waits for the deploy function, which forwards it. */
  status: "done" | "ignored" | "received";
  reason: string | null;
  deployments: { id: string; projectId: string }[];
}
