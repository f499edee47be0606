/** What of a git connection is shown. Columns are named: the sealed secret never leaves. */
import type { Loaded } from "../../../shared/db/tenancy.ts";

export type GitConnectionRow = Loaded<"gitConnection">;

export function showGitConnection(row: GitConnectionRow) {
  const { id, name, provider, baseUrl, kind, last4, hostKey } = row;
  return {
    id,
    name,
    provider,
    baseUrl,
    kind,
    secret: { set: true as const, last4 },
    hostKey,
    createdAt: row.createdAt.toISOString(),
  };
}
