/**
 * Who may give a role or take one away: nobody beyond what the credential itself may do, and `owner` is a matter of
 * owners. A token with organization:admin alone could otherwise make somebody who may do everything.
 */
import { permissionsOfRole, type Role } from "../../shared/domain/permission.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";

export function requireGrant(principal: Principal, role: Role): void {
  if (role === "owner") requireOwner(principal);
  const beyond = [...permissionsOfRole(role)].filter((tag) => !principal.permissions.has(tag));
  if (beyond.length === 0) return;
  throw new Refusal(
    "forbidden",
    "exceeds_credential",
    `The role ${role} may do more than your credential, for example ${beyond[0]}.`,
  );
}

export function requireOwner(principal: Principal): void {
  if (principal.role === "owner") return;
  throw new Refusal("forbidden", "owner_only", "Only an owner may do this.");
}
