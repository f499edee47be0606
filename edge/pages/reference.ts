/**
 * The API reference as one page without scripts, made from the OpenAPI document and from nothing else. Rejected: a
 * reader from a CDN (blank without internet) and one bundled here (megabytes for a table).
 */
import { html, raw } from "hono/html";
import type { OpenApiDocument } from "../../shared/contract/openapi.ts";
import { describeSchema, type Field, type JsonSchema } from "./describe-schema.ts";

interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: JsonSchema }[];
  requestBody?: { content?: Content };
  responses?: Record<string, { description?: string; content?: Content }>;
}

type Content = Record<string, { schema?: JsonSchema }>;
type Fragment = ReturnType<typeof html>;

const methods = ["get", "post", "put", "patch", "delete"] as const;

export function renderReference(document: OpenApiDocument): string {
  const schemas = (document.components?.schemas ?? {}) as Record<string, JsonSchema>;
  const groups = new Map<string, Fragment[]>();
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const method of methods) {
      const operation = (item as Record<string, Operation | undefined>)[method];
      if (operation === undefined) continue;
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), renderOperation(method, path, operation, schemas)]);
    }
  }
  const tags = [...groups.keys()];
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Slipway API</title>
<style>${raw(style)}</style>
</head>
<body>
<h1>Slipway API</h1>
<p>Version ${document.info.version}. Send <code>Authorization: Bearer &lt;token&gt;</code>, except where a route is
public. Errors are <code>{ "error", "code", "details"? }</code>; lists take <code>limit</code> and
<code>cursor</code>. The same as a document: <a href="/api/openapi.json">/api/openapi.json</a>.</p>
<nav><ul>${tags.map((tag) => html`<li><a href="#${tag}">${tag}</a></li>`)}</ul></nav>
${tags.map((tag) => html`<section id="${tag}"><h2>${tag}</h2>${groups.get(tag) ?? []}</section>`)}
</body>
</html>
`);
}

function renderOperation(
  method: string,
  path: string,
  operation: Operation,
  schemas: Record<string, JsonSchema>,
): Fragment {
  const parameters: Field[] = (operation.parameters ?? []).map((each) => ({
    name: each.name,
    type: `${each.in}, ${describeSchema(each.schema ?? {}, schemas).type}`,
    required: each.required === true,
    description: each.description ?? each.schema?.description ?? "",
  }));
  const body = fieldsOf(operation.requestBody?.content, schemas);
  const answers = Object.entries(operation.responses ?? {});
  const good = answers.filter(([status]) => status.startsWith("2"));
  const refusals = answers.filter(([status]) => !status.startsWith("2")).map(([status]) => status);
  return html`<article>
<h3><code>${method.toUpperCase()} ${path}</code></h3>
<p>${prose(operation.summary ?? "")}</p>
${(operation.description ?? "").split("\n\n").map((part) => html`<p class="quiet">${prose(part)}</p>`)}
${parameters.length > 0 ? html`<h4>Parameters</h4>${renderFields(parameters)}` : ""}
${body.length > 0 ? html`<h4>Body</h4>${renderFields(body)}` : ""}
${good.map(
  ([status, answer]) =>
    html`<h4>${status} ${answer.description ?? ""}</h4>${renderFields(fieldsOf(answer.content, schemas))}`,
)}
<p class="quiet">Refusals: ${refusals.join(", ")}</p>
</article>`;
}

function fieldsOf(content: Content | undefined, schemas: Record<string, JsonSchema>): Field[] {
  const schema = content?.["application/json"]?.schema;
  return schema === undefined ? [] : describeSchema(schema, schemas).fields;
}

function renderFields(fields: readonly Field[]): Fragment | string {
  if (fields.length === 0) return "";
  return html`<table><tbody>${fields.map(
    (field) =>
      html`<tr><td><code>${field.name}</code>${field.required ? "" : html` <i>optional</i>`}</td>
<td>${field.type}</td><td>${prose(field.description)}</td></tr>`,
  )}</tbody></table>`;
}

/** What stands between backticks is code. */
function prose(text: string): (Fragment | string)[] {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

const style = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: 0; list-style: none; }
article { border-top: 1px solid #8884; padding: .5rem 0; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td:first-child { width: 16rem; }
td:last-child { width: 35%; }
td { border-top: 1px solid #8883; padding: .2rem .6rem .2rem 0; vertical-align: top; overflow-wrap: anywhere; }
.quiet { opacity: .75; }
h4 { margin: .75rem 0 .25rem; }
`;
