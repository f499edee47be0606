/**
 * Routes whose body is too large to be read before it is passed on. Edge and functions ask here, so that both hold the
 * same requests for streams: their token says so instead of a hash, and no other request may carry such a token.
 */
import { allRoutes } from "./all-routes.ts";

const streamed = allRoutes
  .filter(({ policy }) => policy.body === "raw" && policy.module !== "edge")
  .map(({ method, path }) => ({
    method: method.toUpperCase(),
    path: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
  }));

export function takesStream(method: string, pathname: string): boolean {
  return streamed.some((route) => route.method === method && route.path.test(pathname));
}
