/** Tells the projects of a repository that its deliveries are refused: one statement, at most one alert an hour and project. */
import { sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { alertsChannel } from "../db/raise-alert.ts";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { rowsOf } from "../operations/statements.ts";

/** Alerts of one repository; each has an id that was made beforehand. */
const mostProjects = 100;

export async function reportRejected(db: Database, repository: string): Promise<void> {
  const ids = Array.from({ length: mostProjects }, () => newId("alert"));
  const message = `${limits.rejectionsNoted} deliveries had a signature that no secret here makes. Does the git host still have the right one? A new secret: slipway project link, with --rotate`;
  await rowsOf(
    db,
    sql`
      with quiet as (
        select p.id, p.organization_id, p.server_id, p.name, row_number() over (order by p.id) as place
        from projects as p
        where p.repository = ${repository} and p.deleted_at is null and not exists (
          select from alerts as a where a.resource_id = p.id and a.category = ${category}
            and a.created_at > now() - make_interval(secs => ${limits.rejectionsQuietMs / 1000}))
        limit ${mostProjects}
      ), raised as (
        insert into alerts (id, organization_id, category, severity, title, message, link, resource_type,
          resource_id, project_id, server_id)
        select ids.id, organization_id, ${category}, 'warning', 'Deliveries of ' || name || ' are refused', ${message},
          '/api/projects/' || quiet.id, 'project', quiet.id, quiet.id, server_id
        from quiet join unnest(${sql.param(ids)}::text[]) with ordinality as ids(id, place) using (place)
        returning id
      )
      select pg_notify(${alertsChannel}, '') from raised limit 1`,
  );
}

const category = "webhook.rejected";
