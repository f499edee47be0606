/** Whatever is sent, no route answers 500: bodies, fields, queries and paths as no well-meaning client writes them. */
import { z } from "@hono/zod-openapi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allRoutes } from "../../shared/contract/all-routes.ts";
import type { Route } from "../../shared/contract/route.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Limiter } from "../../shared/ports/limiter.ts";
import { seedSession } from "../edge/edge-under-test.ts";
import { pathOf, sampleOf, takesBody } from "./samples.ts";
import { type Belongings, openWholeApi, seedBelongings } from "./whole-api.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
let token: string;
let session: { headers: Record<string, string> };
let has: Belongings;

beforeAll(async () => {
  api = await openWholeApi({ limiter: boundless });
  const seeded = await seedBelongings(api);
  ({ token, belongings: has } = seeded);
  session = await seedSession(api.db, seeded.owner.userId);
});
afterAll(() => api.close());

const named = (routes: readonly Route[]) =>
  routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);

const behindTheEdge = allRoutes.filter((route) => route.policy.module !== "edge");

/** Tries of secrets are counted elsewhere; here there are hundreds. */
const boundless: Limiter = {
  take: async (_key, { limit }) => ({ allowed: true, limit, remaining: limit, resetMs: 1 }),
};

const hostileValues: unknown[] = [
  null,
  true,
  -1,
  1e308,
  0.5,
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "a\r\nb",
  "\ud800",
  "-rf",
  "--upload-pack=x",
  "../../etc/passwd",
  "$(id)",
  "';drop table users;--",
  "\u202e\u200b",
  "x".repeat(100_000),
  [],
  {},
  [[[]]],
  { __proto__: null, constructor: { prototype: 1 } },
  "sealed:v1:server:k:AAAA",
];

const malformedBodies = [
  "{",
  "null",
  "[]",
  "7",
  '"x"',
  '{"a":1}',
  '{"__proto__":{"x":1}}',
  "[".repeat(50_000) + "]".repeat(50_000),
  `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  "\u0000",
  "payload=1",
  `{"name":"${"x".repeat(500_000)}"}`,
];

/** Every field of a body, nested ones too. */
function placesIn(value: unknown, place: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [place];
  const inner = Object.entries(value).flatMap(([key, each]) => placesIn(each, [...place, key]));
  return place.length === 0 ? inner : [place, ...inner];
}

function withValue(target: unknown, [key, ...rest]: string[], value: unknown): unknown {
  if (key === undefined) return value;
  const copy = (Array.isArray(target) ? [...target] : { ...(target as object) }) as Record<string, unknown>;
  copy[key] = withValue(copy[key], rest, value);
  return copy;
}

async function expectRefusal(answer: Response, route: Route, what: string): Promise<void> {
  await expectSense(answer, route, what);
  expect([what.slice(0, 60), answer.status]).toEqual([what.slice(0, 60), 400]);
}

/** Any answer but an error of ours; and an error in the form that is promised. */
async function expectSense(answer: Response, route: Route, what: string): Promise<void> {
  const text = answer.headers.get("content-type")?.includes("event-stream") ? "" : await answer.text();
  if (text === "") await answer.body?.cancel();
  expect([what.slice(0, 60), answer.status, text]).not.toEqual([what.slice(0, 60), 500, text]);
  expect(Object.keys(route.documented)).toContain(String(answer.status));
  if (answer.status < 400) return;
  expect(JSON.parse(text)).toMatchObject({
    error: expect.any(String),
    code: expect.stringMatching(/^[a-z0-9_]+$/),
  });
  expect(text).not.toMatch(/ at \S+:\d+|drizzle|postgres|select |insert into|node_modules/i);
}

function send(route: Route, path: string, body?: string, type = "application/json") {
  const inBrowser = route.policy.permission === "session";
  return api.send(path, {
    method: route.method.toUpperCase(),
    ...(inBrowser ? {} : { token }),
    headers: {
      ...(inBrowser ? session.headers : {}),
      ...(body === undefined ? {} : { "content-type": type }),
    },
    ...(body === undefined ? {} : { body }),
  });
}

describe.each(named(behindTheEdge.filter(takesBody)))("%s", (_name, route) => {
  test("refuses every body that is not of its form", async () => {
    for (const body of malformedBodies)
      await expectRefusal(await send(route, pathOf(route, has), body), route, body);
    const sample = JSON.stringify(sampleOf(route, has));
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      await expectRefusal(await send(route, pathOf(route, has), sample, type), route, type);
    }
  });

  test("refuses a field that it does not know, by name", async () => {
    const body = { ...sampleOf(route, has), organizationId: "org_x" };
    const answer = await send(route, pathOf(route, has), JSON.stringify(body));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: "validation_failed",
      details: expect.arrayContaining([{ path: "body.organizationId", message: expect.any(String) }]),
    });
  });

  test("makes sense of every value in every field", async () => {
    const sample = sampleOf(route, has) ?? {};
    for (const place of placesIn(sample)) {
      for (const value of hostileValues) {
        const body = JSON.stringify(withValue(sample, place, value));
        await expectSense(
          await send(route, pathOf(route, has), body),
          route,
          `${place.join(".")}: ${JSON.stringify(value)}`,
        );
      }
    }
  });

  test("refuses a body above the cap", async () => {
    const answer = await send(route, pathOf(route, has), `"${"x".repeat(limits.jsonBodyBytes)}"`);
    expect(answer.status).toBe(413);
  });
});

const hostileParts = [
  "%00",
  "%ff",
  "%ED%A0%80",
  "'",
  "%27--",
  "1%20or%201",
  "%F0%9F%94%91",
  "a".repeat(8_000),
  "undefined",
];

describe.each(named(behindTheEdge.filter((route) => route.path.includes("{"))))("%s", (_name, route) => {
  test("makes sense of every id", async () => {
    for (const part of hostileParts) {
      const path = route.path.replaceAll(/\{\w+\}/g, part);
      const body = takesBody(route) ? JSON.stringify(sampleOf(route, has)) : undefined;
      const answer = await send(route, path, body);
      await expectSense(answer, route, part);
      expect([400, 404]).toContain(answer.status);
    }
  });
});

describe.each(named(behindTheEdge.filter((route) => route.method === "get")))("%s", (_name, route) => {
  test("makes sense of every query", async () => {
    for (const name of ["limit", "cursor", "since", "phase", "projectId", "nobody"]) {
      for (const part of [...hostileParts, "-1", "0", "1e9", "NaN", "", "99999999999999999999", "[]"]) {
        const answer = await send(route, `${pathOf(route, has)}?${name}=${part}&${name}=2`);
        await expectSense(answer, route, `${name}=${part}`);
      }
    }
  });
});

const hasField = (schema: unknown, field: string) =>
  schema instanceof z.ZodObject && Object.hasOwn(schema.shape, field);

const lists = behindTheEdge.filter(({ request }) => hasField(request?.query, "cursor"));

describe.each(named(lists))("%s", (_name, route) => {
  test("refuses a cursor that no page gave, and says what one is; one that a page gave is good for ever", async () => {
    const at = (cursor: string) => send(route, `${pathOf(route, has)}?cursor=${encodeURIComponent(cursor)}`);
    const kept = newId("delivery", Date.parse("2025-01-01T00:00:00Z"));
    for (const cursor of ["garbage", "", "7", "\u{1f511}", `${kept}0`, kept.toLowerCase(), `${kept}\n`]) {
      const answer = await at(cursor);
      expect([cursor, answer.status]).toEqual([cursor, 400]);
      expect(await answer.json()).toMatchObject({
        details: [
          {
            path: "query.cursor",
            message: "must be `nextCursor` of the page before; leave it out for the first page",
          },
        ],
      });
    }
    expect((await at(kept)).status).toBe(200);
  });
});

test("lists are found by their cursor", () => expect(lists.length).toBeGreaterThan(10));
