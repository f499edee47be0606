import type { Permission, Role } from "./permission.ts";

/** What the edge says of a caller it has authenticated; carried to a function as a signed token or, in one process, as an object. */
export interface Identity {
  organizationId: string;
  userId: string;
  /** The token (or session) that was used; the function's own check of revocation starts from it. */
  credentialId: string;
  permissions: Permission[];
  /** null: not narrowed. */
  projectIds: string[] | null;
  serverIds: string[] | null;
  /** Where the request came from, for the audit. */
  sourceIp: string;
  requestId: string;
}

/** Whoever calls a public route: nothing is known but where from. */
export function nobody({ sourceIp, requestId }: Pick<Identity, "sourceIp" | "requestId">): Identity {
  const none = { organizationId: "", userId: "", credentialId: "", permissions: [] };
  return { ...none, projectIds: [], serverIds: [], sourceIp, requestId };
}

/** The caller as the function itself found it in the database on this request: never more than the identity said. */
export interface Principal extends Omit<Identity, "permissions"> {
  role: Role;
  permissions: ReadonlySet<Permission>;
}
