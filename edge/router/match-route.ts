/**
 * Which route a request is for, decided on exactly the path that is then forwarded, so that no spelling can pass the
 * check of one route and reach another. Fixed segments count only as written: no other case, no escapes, no empty
 * segment, no slash at the end. A parameter may be escaped, and goes on in one canonical spelling.
 * Rejected: the patterns of the web framework, which decode first and then forward what came.
 */
import { allRoutes } from "../../shared/contract/all-routes.ts";
import type { Route } from "../../shared/contract/route.ts";

export interface MatchedRoute {
  route: Route;
  params: Record<string, string>;
  /** Canonical, and the only one that is ever forwarded. */
  path: string;
}

export type MatchRoute = (method: string, path: string) => MatchedRoute | null;

interface Candidate {
  route: Route;
  segments: string[];
}

/** Routes of another mode are not in the table at all: they are as unknown as any other path. */
export function createRouteTable(
  mode: "self-hosted" | "cloud",
  routes: readonly Route[] = allRoutes,
): MatchRoute {
  const table = new Map<string, Candidate[]>();
  for (const route of routes) {
    if (route.policy.modes !== undefined && !route.policy.modes.includes(mode)) continue;
    const segments = route.path.split("/");
    const key = `${route.method.toUpperCase()} ${segments.length}`;
    table.set(key, [...(table.get(key) ?? []), { route, segments }].sort(fixedFirst));
  }
  return (method, path) => {
    const segments = path.split("/");
    for (const candidate of table.get(`${method} ${segments.length}`) ?? []) {
      const params = paramsOf(candidate.segments, segments);
      if (params !== null) return { route: candidate.route, params, path: spell(candidate.segments, params) };
    }
    return null;
  };
}

/** `/api/servers/probe` before `/api/servers/{id}`. */
function fixedFirst(one: Candidate, other: Candidate): number {
  return parameters(one) - parameters(other);
}

function parameters(candidate: Candidate): number {
  return candidate.segments.filter((segment) => parameterName(segment) !== null).length;
}

function parameterName(segment: string): string | null {
  return /^\{(.+)\}$/.exec(segment)?.[1] ?? null;
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const given = segments[index] ?? "";
    const name = parameterName(wanted);
    if (name === null) {
      if (given !== wanted) return null;
      continue;
    }
    const value = decode(given);
    if (value === null) return null;
    params[name] = value;
  }
  return params;
}

/** null for what could be read as something else further on: nothing, dots, separators, escapes, control characters. */
function decode(segment: string): string | null {
  try {
    const value = decodeURIComponent(segment);
    return value === "" || /^\.{1,2}$|[/\\%\p{Cc}]/u.test(value) ? null : value;
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

function spell(pattern: readonly string[], params: Record<string, string>): string {
  return pattern
    .map((segment) => {
      const name = parameterName(segment);
      return name === null ? segment : encodeURIComponent(params[name] ?? "");
    })
    .join("/");
}
