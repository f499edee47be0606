/**
 * Where our things lie on a managed server, and which names may become part of a path there. Everything is below one folder, so that
 * what is removed can never be anything else.
 */
const remoteRoot = "/var/lib/slipway";
export const operationsFolder = `${remoteRoot}/operations`;
export const fencesFolder = `${remoteRoot}/fences`;

/** Letters, digits, `_` and `-`, not starting with `-`: one path segment, one unit name, never an option. Throws for anything else. */
export function remoteName(name: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$/.test(name)) {
    throw new RangeError("A name on the server may hold letters, digits, '_' and '-' only.");
  }
  return name;
}
