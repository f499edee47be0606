/**
 * Permission tags, what each implies, and what each role holds (decisions.md section 2).
 * `admin` implies `write`, `write` implies `read` and `list` of the same family.
 */
export const permissionTags = [
  "mail_server:read",
  "mail_server:list",
  "mail_server:write",
  "mail_server:admin",
  "deployment:read",
  "deployment:list",
  "deployment:write",
  "deployment:admin",
  "notifications:read",
  "notifications:write",
  "notifications:admin",
  "project:read",
  "project:list",
  "project:write",
  "project:admin",
  "server:read",
  "server:list",
  "server:write",
  "server:admin",
  "backup_destination:read",
  "backup_destination:list",
  "backup_destination:write",
  "backup_destination:admin",
  "backup_destination:backup_policy:write",
  "backup_destination:backup_run:read",
  "backup_destination:backup_run:write",
  "backup_destination:backup_run:admin",
  "backup_destination:backup_restore:read",
  "backup_destination:backup_restore:write",
  "backup_destination:backup_restore:admin",
  "organization:read",
  "organization:admin",
  "token:read",
  "token:write",
  "token:admin",
  "audit:read",
  "webhook:read",
  "webhook:write",
  "git_connection:read",
  "git_connection:write",
  "git_connection:admin",
] as const;
export type Permission = (typeof permissionTags)[number];

export const roles = ["owner", "admin", "maintainer", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

export function isPermission(value: string): value is Permission {
  return (permissionTags as readonly string[]).includes(value);
}

/** The tags themselves and all that they imply. */
export function expandPermissions(granted: Iterable<Permission>): Set<Permission> {
  const all = new Set<Permission>();
  for (const tag of granted) {
    all.add(tag);
    for (const implied of impliedBy(tag)) all.add(implied);
  }
  return all;
}

const ofEveryMember: readonly Permission[] = ["notifications:read", "notifications:write"];

/** Every tag that a role holds. */
export function permissionsOfRole(role: Role): Set<Permission> {
  const maintainerExtras: Permission[] = [
    "deployment:admin",
    "backup_destination:backup_run:admin",
    "backup_destination:backup_restore:admin",
  ];
  switch (role) {
    case "owner":
    case "admin":
      return new Set(permissionTags);
    case "maintainer":
      return expandPermissions([
        ...permissionTags.filter((tag) => !tag.endsWith(":admin")),
        ...maintainerExtras,
      ]);
    case "member":
      return new Set(permissionTags.filter((tag) => !tag.endsWith(":admin")));
    case "viewer":
      return new Set([...permissionTags.filter((tag) => /:(read|list)$/.test(tag)), ...ofEveryMember]);
  }
}

/**
 * What a credential of this role may do: the role's tags within those that it was granted (null: all of them).
 * notifications:read and :write concern the person alone, so that every credential holds them.
 */
export function permissionsOf(role: Role, granted: readonly Permission[] | null): Set<Permission> {
  const ofRole = permissionsOfRole(role);
  if (granted === null) return ofRole;
  const wanted = expandPermissions([...granted, ...ofEveryMember]);
  return new Set([...ofRole].filter((tag) => wanted.has(tag)));
}

function impliedBy(tag: Permission): Permission[] {
  const family = tag.slice(0, tag.lastIndexOf(":"));
  const verb = tag.slice(tag.lastIndexOf(":") + 1);
  const weaker = verb === "admin" ? ["write", "read", "list"] : verb === "write" ? ["read", "list"] : [];
  return weaker.map((name) => `${family}:${name}`).filter(isPermission);
}
