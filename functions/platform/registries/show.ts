/** What of a registry is shown. Columns are named: the sealed secret never leaves. */
import type { Loaded } from "../../../shared/db/tenancy.ts";

export type RegistryRow = Loaded<"registry">;

export function showRegistry(row: RegistryRow) {
  const { id, name, host, username, last4 } = row;
  return {
    id,
    name,
    host,
    username,
    secret: { set: true as const, last4 },
    createdAt: row.createdAt.toISOString(),
  };
}
