/** A project that lives in the cloud is changed there: what is changed here would reach nothing that runs. */
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { ProjectRow } from "../project-row.ts";

export function refuseInCloud({ location, cloudProjectId }: ProjectRow): void {
  if (location === "local") return;
  throw new Refusal(
    "conflict",
    "project_in_cloud",
    `This project lives in the cloud as ${cloudProjectId}; change it there.`,
  );
}
