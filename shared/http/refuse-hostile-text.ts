/**
 * What no field may hold, whatever its schema: NUL (Postgres cannot store it) and lone surrogates (not text). Also
 * refuses a body of another type than JSON, which would otherwise be read as an empty one, and takes an empty one for
 * none where it may be left out: many clients name the type of every request.
 */
import type { HonoRequest } from "hono";
import { createMiddleware } from "hono/factory";
import type { Route } from "../contract/route.ts";
import { invalid, Refusal } from "../domain/refusal.ts";

const deepest = 32;

export function refuseHostileText(route: Route) {
  return createMiddleware(async (c, next) => {
    for (const [name, value] of Object.entries(c.req.param() as Record<string, string>))
      check(value, `path.${name}`);
    for (const [name, value] of Object.entries(c.req.query())) check(value, `query.${name}`);
    if (takesJson(route)) {
      const text = await c.req.text();
      if (text !== "") {
        requireJsonType(c.req.header("content-type"));
        checkAll(parse(text), "body", 0);
      } else if (mayBeLeftOut(route)) {
        dropType(c.req);
      }
    }
    await next();
  });
}

function takesJson(route: Route): boolean {
  const request = route.request as { body?: unknown } | undefined;
  return request?.body !== undefined && route.policy.body !== "raw";
}

function mayBeLeftOut(route: Route): boolean {
  const { body } = route.request as { body?: { required?: boolean } };
  return body?.required !== true;
}

/** The validator reads a body by its type, an empty one as well. */
function dropType(request: HonoRequest): void {
  const headers = new Headers(request.raw.headers);
  headers.delete("content-type");
  const { url, method, signal } = request.raw;
  request.raw = new Request(url, { method, headers, signal });
}

function requireJsonType(type: string | undefined): void {
  if (type === undefined || !/^application\/([a-z0-9.-]+\+)?json\b/i.test(type)) {
    throw invalid("header.content-type", "must be application/json", "wrong_content_type");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Refusal("validation", "malformed_json", "The body is not valid JSON.", {
      details: [{ path: "body", message: "is not valid JSON" }],
      cause,
    });
  }
}

function checkAll(value: unknown, path: string, depth: number): void {
  if (depth > deepest) throw invalid(path, "is nested too deeply");
  if (typeof value === "string") check(value, path);
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    check(key, path);
    checkAll(inner, `${path}.${key}`, depth + 1);
  }
}

function check(text: string, path: string): void {
  if (text.includes("\0")) throw invalid(path, "must not contain NUL");
  if (!text.isWellFormed()) throw invalid(path, "is not well-formed text");
}
