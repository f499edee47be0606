/**
 * The wizard's way to start a deployment: of a git project, or of an uploaded folder, which a git project takes as well.
 * It has one service; what is given about it holds for this deployment alone.
 */
import { load } from "../../shared/db/tenancy.ts";
import type { BuildStrategy } from "../../shared/domain/deployment.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { AskedSettings } from "../../shared/domain/project.ts";
import { invalid } from "../../shared/domain/refusal.ts";
import { cannotRun, enqueue, refuseServices, refuseUnready, target } from "./create.ts";
import type { DeploymentView } from "./store.ts";
import { refuseFoldersInCloud, type UploadParts, uploadOf } from "./uploads/session.ts";

export interface WizardRequest {
  projectId: string;
  uploadSessionId?: string | undefined;
  branch?: string | undefined;
  buildStrategy?: BuildStrategy | undefined;
  deployTarget?: "local" | "cloud" | undefined;
  publicEndpoints?: { port: number }[] | undefined;
  services?: { name: string }[] | undefined;
}

export async function buildAccess(
  parts: UploadParts,
  principal: Principal,
  request: WizardRequest,
): Promise<DeploymentView> {
  const { uploadSessionId, branch } = request;
  const project = await load(parts.db, principal, "project", request.projectId);
  refuseServices(project);
  const uploadDigest =
    uploadSessionId === undefined ? null : await uploadOf(parts, principal, uploadSessionId, project.id);
  if (uploadDigest !== null) refuseFoldersInCloud(parts.mode);
  if (uploadDigest === null && project.source.kind !== "git") {
    throw cannotRun("upload_needed", "This project is deployed from uploads; give an uploadSessionId.");
  }
  if (uploadDigest !== null && branch !== undefined) {
    throw invalid("body.branch", "an upload has no branch");
  }
  for (const { name } of request.services ?? []) {
    if (![project.name, project.slug].includes(name)) {
      throw invalid("body.services", "names a service that the project does not have", "unknown_service");
    }
  }
  await refuseUnready(parts.db, project);
  return enqueue(parts.db, principal, {
    ...target(project),
    trigger: uploadDigest === null ? "manual" : "upload",
    branch: uploadDigest === null ? (branch ?? project.branch) : null,
    uploadDigest,
    asked: askedOf(request),
    createdBy: principal.userId,
  });
}

function askedOf({ buildStrategy, publicEndpoints = [] }: WizardRequest): AskedSettings | null {
  const [endpoint] = publicEndpoints;
  if (buildStrategy === undefined && endpoint === undefined) return null;
  return {
    ...(buildStrategy === undefined ? {} : { buildStrategy }),
    ...(endpoint === undefined ? {} : { port: endpoint.port }),
  };
}
