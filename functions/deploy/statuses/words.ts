/**
 * The end of a deployment in the words of a commit status. Whoever sees the repository reads them, so nothing of logs,
 * addresses or messages goes in: the state and a code of ours. `failure` says that the commit is at fault, `error` that
 * something else ended it.
 */
import type { CommitState } from "../../../shared/domain/git-connection.ts";
import type { EndedOperation } from "../../../shared/operations/definition.ts";

const faultsOfCommits: readonly string[] = [
  "build_failed",
  "container_exited",
  "container_not_started",
  "environment_not_supported",
  "health_check_failed",
  "image_not_allowed",
  "invalid_package_json",
  "nothing_to_build",
  "root_directory_not_found",
];

export function wordsForEnd({ state, error }: EndedOperation): { state: CommitState; description: string } {
  if (state === "ready") return { state: "success", description: "Live" };
  if (error?.code === "superseded") return { state: "error", description: "Replaced by a newer deployment" };
  if (state === "cancelled") return { state: "error", description: "Cancelled" };
  const code = error?.code ?? "internal";
  return {
    state: faultsOfCommits.includes(code) ? "failure" : "error",
    description: `Not deployed: ${code.replaceAll("_", " ")}`.slice(0, 140),
  };
}
