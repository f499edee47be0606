/** A page of the inbox. */
import type { Queryable } from "../../../shared/db/database.ts";
import { toPage } from "../../../shared/db/page.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { type DeliveryQuery, deliveryRows, namesOfProjects } from "./rows.ts";
import { shapeDelivery } from "./shape.ts";

export async function listDeliveries(db: Queryable, principal: Principal, query: DeliveryQuery) {
  if (query.projectId !== undefined) await load(db, principal, "project", query.projectId);
  const rows = await deliveryRows(db, principal, query);
  const projectIds = rows.flatMap(({ outcomes }) => outcomes.map(({ projectId }) => projectId));
  const names = await namesOfProjects(db, principal, projectIds);
  return toPage(rows, query, (row) => shapeDelivery(row, names));
}
