/**
 * The import rules of the architecture as a table: which layer a file is in, which layers and libraries it may import.
 *
 * Additions to the architecture's table, each with its reason:
 * - shared/contract → ports (types only): a route names the module that serves it; the names are the forwarder's.
 * - shared/adapters → db, shell, domain: the Postgres adapter opens what shared/db describes, the SSH adapter quotes
 *   with shared/shell; limits and failures are domain. "One library a file" counts packages, not their subpaths.
 * - shared/adapters → operations: the edge's store queues deployments with the statements of the operations.
 * - functions/*-part.ts are pieces of composition roots: what one process and the containers are both made of.
 * - functions/one-process.ts is a composition root: the part of local.ts that tests, demo and bench start as well.
 * - shared/adapters/postgres*: `pg` and its drizzle driver are one thing and may stand in one file.
 * - shared/{http,operations,proxy} → each other's lower neighbours: http → crypto (the signed identity); operations →
 *   db; proxy → db, shell. Proxy is the desired state of a server's proxy, which two modules need.
 * - shared/operations, shared/proxy and functions import drizzle-orm: a query is written where its rule is; the
 *   tables stay in shared/db.
 * - shared/http, edge/webhooks, functions import zod or @hono/zod-openapi: types of the contract's schemas, and the
 *   form of webhook payloads, which no contract describes.
 * - functions/<module> → shared/adapters for pure libraries without I/O only (a key pair, framework detection); what
 *   reaches out arrives as a port from the composition root.
 * - functions/*.ts beside the roots (configuration, parts of the roots): shared only, like a module.
 * - edge/pages are part of the edge. edge/node.ts is a root.
 * - cli → commander, @clack/prompts, ignore and tar: its own libraries; and functions/offline.ts from init, token and doctor.
 * - docs/*.ts and set-up.mjs are tools: they write files from the contract, or run before anything is installed.
 */
export interface Layer {
  name: string;
  files: RegExp;
  /** Names of layers; its own is always allowed. */
  layers: readonly string[] | "any";
  libraries: readonly string[] | "any" | "one a file";
  node: boolean;
}

const zod = ["zod", "@hono/zod-openapi"];

/** The first that matches counts. */
export const layers: readonly Layer[] = [
  layer(
    "root",
    /^(edge\/(worker|node)|functions\/(container|local|offline|one-process|(edge|module|platform|deploy|notify|metrics|set-up)-part))\.ts$/,
    "any",
    "any",
    true,
  ),
  layer("domain", /^shared\/domain\//, [], [], false),
  layer("contract", /^shared\/contract\//, ["domain", "ports"], [...zod, "eventsource-parser"], false),
  layer("ports", /^shared\/ports\//, ["domain"], [], false),
  layer("crypto", /^shared\/crypto\//, ["domain", "contract", "ports"], ["jose"], false),
  layer("shell", /^shared\/shell\//, ["domain", "contract", "ports"], [], true),
  layer("http", /^shared\/http\//, ["domain", "contract", "ports", "crypto"], ["hono", ...zod], false),
  layer("migration tool", /^shared\/db\/drizzle\.config\.ts$/, [], ["drizzle-kit"], false),
  layer("db", /^shared\/db\//, ["domain", "contract", "ports"], ["drizzle-orm"], true),
  layer("operations", /^shared\/operations\//, ["domain", "contract", "ports", "db"], ["drizzle-orm"], false),
  layer("proxy", /^shared\/proxy\//, ["domain", "contract", "ports", "db", "shell"], ["drizzle-orm"], false),
  layer(
    "adapters",
    /^shared\/adapters\//,
    ["domain", "ports", "db", "shell", "operations"],
    "one a file",
    true,
  ),
  layer("edge adapters", /^edge\/adapters\//, ["domain", "contract", "ports", "crypto"], "one a file", false),
  layer(
    "edge",
    /^edge\//,
    ["domain", "contract", "ports", "crypto", "http", "edge adapters"],
    ["hono", ...zod],
    false,
  ),
  layer("channels", /^functions\/[^/]+\/channels\//, shared(), "one a file", true),
  layer("functions", /^functions\//, shared(), ["hono", "drizzle-orm", ...zod], true),
  layer("cli", /^cli\//, ["contract"], ["commander", "@clack/prompts", "ignore", "tar"], true),
  layer("dashboard", /^dashboard\//, ["contract"], "any", false),
  layer("tests", /^test\//, "any", "any", true),
  layer("tools", /^(docs\/.*\.ts|set-up\.mjs|sst\.config\.ts)$/, ["contract"], [], true),
];

/** Single files that may reach further, as the architecture says. */
export const exceptions: readonly { from: RegExp; to: RegExp }[] = [
  { from: /^cli\/(init|token|doctor)\.ts$/, to: /^functions\/offline\.ts$/ },
  { from: /^cli\/slipway\.ts$/, to: /^package\.json$/ },
];

export function layerOf(path: string): Layer | undefined {
  return layers.find(({ files }) => files.test(path));
}

/** `functions/deploy/x.ts` → `deploy`; a file beside the modules is in none. */
export function moduleOf(path: string): string | undefined {
  return /^functions\/([^/]+)\//.exec(path)?.[1];
}

function layer(
  name: string,
  files: RegExp,
  allowed: Layer["layers"],
  libraries: Layer["libraries"],
  node: boolean,
): Layer {
  return { name, files, layers: allowed, libraries, node };
}

function shared(): string[] {
  return ["domain", "contract", "ports", "crypto", "shell", "http", "db", "operations", "proxy", "adapters"];
}
