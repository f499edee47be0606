/** Every text of a route's body as the contract's schema has it, nested ones and both sides of a record too: where a test may put a value. */
import { z } from "@hono/zod-openapi";
import type { Route } from "../../shared/contract/route.ts";

/** Keys from the body down; `key` stands for the name of a record's entry itself. */
export interface Place {
  path: string[];
  isKey: boolean;
}

export function textPlaces(route: Route): Place[] {
  const body = (route.request as { body?: { content?: Record<string, { schema?: unknown }> } } | undefined)
    ?.body;
  const schema = body?.content?.["application/json"]?.schema;
  if (!(schema instanceof z.ZodType)) return [];
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  const found = placesIn(json, []);
  return [...new Map(found.map((place) => [JSON.stringify(place), place])).values()];
}

interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

function placesIn(schema: JsonSchema, path: string[]): Place[] {
  const { properties = {}, additionalProperties, items, anyOf = [], oneOf = [], allOf = [] } = schema;
  const isText = schema.type === undefined || [schema.type].flat().includes("string");
  const record = typeof additionalProperties === "object" ? additionalProperties : undefined;
  return [
    ...(isText && path.length > 0 ? [{ path, isKey: false }] : []),
    ...Object.entries(properties).flatMap(([key, inner]) => placesIn(inner, [...path, key])),
    ...(record === undefined ? [] : [{ path, isKey: true }, ...placesIn(record, [...path, "KEY"])]),
    ...(items === undefined ? [] : placesIn(items, [...path, "0"])),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((inner) => placesIn(inner, path)),
  ];
}

/** The body with a text at that place; what is on the way there and missing is made. */
export function withText(body: unknown, { path, isKey }: Place, text: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return isKey ? { [text]: "x" } : text;
  const isIndex = /^\d+$/.test(key);
  const copy = (isIndex ? [...(Array.isArray(body) ? body : [])] : { ...(body as object) }) as Record<
    string,
    unknown
  >;
  copy[key] = withText(copy[key], { path: rest, isKey }, text);
  return copy;
}
