/** One deployment, through the tenancy door. */
import type { Database } from "../../shared/db/database.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { type DeploymentView, viewOf } from "./store.ts";

export async function show(db: Database, principal: Principal, id: string): Promise<DeploymentView> {
  await load(db, principal, "deployment", id);
  return viewOf(db, id);
}
