/**
 * Promotes a project: the linked cloud takes all of it in with one request, confirms under which id, and only then is it
 * marked here. Whatever fails before that leaves the project local; the next try finds what the cloud made, since the
 * cloud knows it by its id here. What runs here goes on running until somebody deletes the project.
 */
import { and, eq, inArray, isNull, or } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Database } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { cannotRun, refuseServices } from "../create.ts";
import { type CloudLine, type CloudParts, readJson } from "./cloud-line.ts";
import { describeProject } from "./describe.ts";

type ProjectRow = typeof projects.$inferSelect;

/** Answers the id that the project has in the cloud. */
export async function promote(
  { db, sealer }: CloudParts & { db: Database },
  line: CloudLine,
  principal: Principal,
  project: ProjectRow,
): Promise<string> {
  if (!principal.permissions.has("project:write")) {
    throw new Refusal(
      "forbidden",
      "forbidden",
      "Promoting a project to the cloud needs the permission project:write.",
    );
  }
  refuseServices(project);
  if (project.deletingAt !== null) throw cannotRun("project_being_deleted", "The project is being deleted.");
  // Not the caller's signal: what was begun in the cloud is marked here, whoever has left meanwhile.
  const answer = await line.send({
    ...{ method: "POST", path: "/api/promotions", json: await describeProject(db, sealer, project) },
    signal: new AbortController().signal,
  });
  const said = await readJson(answer);
  if (answer.status >= 400) throw refusedBy(said);
  const { projectId, hookId } = (said["data"] ?? {}) as { projectId?: unknown; hookId?: unknown };
  if (!isId(projectId)) {
    throw new Refusal("upstream", "cloud_unreachable", "The cloud did not say which project it has made.");
  }
  return mark(db, principal, project, { projectId, hookId: isId(hookId) ? hookId : null });
}

/** It becomes a part of addresses that are asked later. */
function isId(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value);
}

/** `before`: a project that was promoted already is marked anew, unless somebody else has done so meanwhile. */
async function mark(
  db: Database,
  principal: Principal,
  { id, cloudProjectId: before }: ProjectRow,
  { projectId: cloudProjectId, hookId: cloudHookId }: { projectId: string; hookId: string | null },
): Promise<string> {
  return db.transaction(async (tx) => {
    const [row] = await tx
      .update(projects)
      .set({ location: "cloud", cloudProjectId, cloudHookId })
      .where(
        and(
          eq(projects.id, id),
          isNull(projects.deletedAt),
          isNull(projects.deletingAt),
          or(
            eq(projects.location, "local"),
            inArray(projects.cloudProjectId, [cloudProjectId, before ?? cloudProjectId]),
          ),
        ),
      )
      .returning({ id: projects.id });
    if (row === undefined) {
      throw new Refusal(
        "conflict",
        "project_changed",
        "The project was changed meanwhile; look at it again.",
      );
    }
    await writeAudit(tx, principal, {
      action: "project.promoted",
      resource: { kind: "project", id },
      fields: ["location", "cloudProjectId"],
    });
    return cloudProjectId;
  });
}

/** A mistake that can be set right there or here, in the cloud's own words. (400 in this module: spec.md "Errors") */
function refusedBy(said: Record<string, unknown>): Refusal {
  const { code, error } = said;
  return cannotRun(
    typeof code === "string" && /^[a-z0-9_]{1,60}$/.test(code) ? code : "cloud_refused",
    `The cloud does not take the project in: ${typeof error === "string" ? error.slice(0, 500) : "no reason given"}`,
  );
}
