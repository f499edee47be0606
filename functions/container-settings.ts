/**
 * What a part of the platform is told when it runs in a container of its own, beside the common settings: where the
 * others are, its queue, and its secrets, from variables or from one file of them. Pure, as `configuration.ts`.
 */
import { secretClasses } from "../shared/domain/instance-secrets.ts";
import {
  edgeDatabaseName,
  identityKeyName,
  identityPublicName,
  type Part,
  type ReadValue,
  sealName,
} from "../shared/domain/module-secrets.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import type { ModuleName } from "../shared/ports/forwarder.ts";

export interface ContainerSettings {
  part: Part;
  /** Of the edge alone: where the modules are. */
  origins: Record<ModuleName, string> | undefined;
  /** Undefined: there is no broker; the database itself tells what is due. */
  queue: { url: string; deadUrl: string; region: string } | undefined;
  /** Where this part alone tells its metrics; undefined: nowhere. */
  metricsPort: number | undefined;
  /** Reads a secret. */
  secret: ReadValue;
}

type Environment = Readonly<Record<string, string | undefined>>;

const parts: readonly Part[] = ["edge", "platform", "deploy", "notify"];

export const containerVariables = [
  "SLIPWAY_SECRETS_FILE",
  "SLIPWAY_PLATFORM_URL",
  "SLIPWAY_DEPLOY_URL",
  "SLIPWAY_NOTIFY_URL",
  "SLIPWAY_QUEUE_DEPLOY",
  "SLIPWAY_QUEUE_DEPLOY_DEAD",
  "SLIPWAY_METRICS_PORT",
  edgeDatabaseName,
  identityKeyName,
  identityPublicName,
  ...secretClasses.map(sealName),
];

/** `readFile` is called for `SLIPWAY_SECRETS_FILE`: a JSON object of the very variables. */
export function readContainerSettings(
  name: string | undefined,
  environment: Environment,
  readFile: (path: string) => string,
): ContainerSettings {
  const part = parts.find((each) => each === name);
  if (part === undefined) {
    throw wrong(`There is no part "${name ?? ""}". Start one of ${parts.join(", ")}, or set-up`);
  }
  const value: ReadValue = (each) => environment[each]?.trim() || undefined;
  return {
    part,
    origins: part === "edge" ? readOrigins(value) : undefined,
    queue: part === "deploy" ? readQueue(value) : undefined,
    metricsPort: readMetricsPort(value),
    secret: readSecrets(value, readFile),
  };
}

function readMetricsPort(value: ReadValue): number | undefined {
  const given = value("SLIPWAY_METRICS_PORT");
  if (given === undefined) return undefined;
  if (value("SLIPWAY_MODE") === "cloud") {
    throw wrong(
      "SLIPWAY_METRICS_PORT is for self-hosted parts: in cloud mode every customer's token would read the metrics",
    );
  }
  const port = Number(given);
  if (/^\d+$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw wrong(`SLIPWAY_METRICS_PORT is "${given}", not a port from 1 to 65535. For example: 9464`);
}

function readOrigins(value: ReadValue): Record<ModuleName, string> {
  const needed = (name: string): string => {
    const url = URL.parse(value(name) ?? "");
    if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
    throw wrong(`${name} is missing or no address. For example: http://platform:3000`);
  };
  return {
    platform: needed("SLIPWAY_PLATFORM_URL"),
    deploy: needed("SLIPWAY_DEPLOY_URL"),
    notify: needed("SLIPWAY_NOTIFY_URL"),
  };
}

function readQueue(value: ReadValue): ContainerSettings["queue"] {
  const [url, deadUrl, region] = ["SLIPWAY_QUEUE_DEPLOY", "SLIPWAY_QUEUE_DEPLOY_DEAD", "AWS_REGION"].map(
    value,
  );
  if (url === undefined && deadUrl === undefined) return undefined;
  if (url !== undefined && deadUrl !== undefined && region !== undefined) return { url, deadUrl, region };
  throw wrong(
    "SLIPWAY_QUEUE_DEPLOY, SLIPWAY_QUEUE_DEPLOY_DEAD and AWS_REGION belong together; one is missing",
  );
}

function readSecrets(value: ReadValue, readFile: (path: string) => string): ReadValue {
  const path = value("SLIPWAY_SECRETS_FILE");
  if (path === undefined) return value;
  let content: Record<string, unknown>;
  try {
    content = JSON.parse(readFile(path)) as Record<string, unknown>;
  } catch (cause) {
    throw new StartFailure(
      "secret_missing",
      `SLIPWAY_SECRETS_FILE: ${path} cannot be read as JSON. The set-up step writes it.`,
      { cause },
    );
  }
  return (name) => {
    const held = content[name];
    if (held === undefined) return value(name);
    return typeof held === "string" ? held : JSON.stringify(held);
  };
}

function wrong(message: string): StartFailure {
  return new StartFailure("configuration_invalid", `${message}.`);
}
