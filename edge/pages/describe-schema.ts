/** A JSON schema in words: the type of a value, and the fields of an object, nested ones with their path. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

export interface Field {
  name: string;
  type: string;
  required: boolean;
  description: string;
}

type Schemas = Record<string, JsonSchema>;

/** Deeper fields than this are left to the document itself. */
const deepest = 4;

export function describeSchema(schema: JsonSchema, schemas: Schemas): { type: string; fields: Field[] } {
  return { type: typeOf(schema, schemas), fields: fieldsOf(schema, schemas, "", 0) };
}

function fieldsOf(given: JsonSchema, schemas: Schemas, prefix: string, depth: number): Field[] {
  const schema = resolve(given, schemas);
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (parts.length > 0) return unique(parts.flatMap((part) => fieldsOf(part, schemas, prefix, depth)));
  if (schema.items !== undefined) return fieldsOf(schema.items, schemas, `${prefix}[]`, depth);
  if (depth >= deepest) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = prefix === "" ? key : `${prefix}.${key}`;
    const field = {
      name,
      type: typeOf(inner, schemas),
      required: schema.required?.includes(key) === true,
      description: inner.description ?? resolve(inner, schemas).description ?? "",
    };
    return [field, ...fieldsOf(inner, schemas, name, depth + 1)];
  });
}

function typeOf(given: JsonSchema, schemas: Schemas): string {
  const schema = resolve(given, schemas);
  const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (parts !== undefined) return [...new Set(parts.map((part) => typeOf(part, schemas)))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.items !== undefined) return `list of ${typeOf(schema.items, schemas)}`;
  const types = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? "any");
  return [types, ...bounds(schema)].join(", ");
}

function bounds(schema: JsonSchema): string[] {
  const { minimum, maximum, maxLength } = schema;
  return [
    minimum === undefined && maximum === undefined ? "" : `${minimum ?? ""}–${maximum ?? ""}`,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    schema.default === undefined ? "" : `default ${JSON.stringify(schema.default)}`,
  ].filter((part) => part !== "");
}

function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (schemas[name] ?? {});
}

/** Variants of one value share fields; each is told once. */
function unique(fields: Field[]): Field[] {
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}
