/**
 * The one place that knows the environment variables of the platform, their defaults and what is right. A wrong value
 * stops the start with its name and an example; an unknown SLIPWAY_ variable is a warning, since it is nearly always
 * a misspelt one. Pure: the environment, the user and the working directory arrive as arguments.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { limits } from "../shared/domain/limits.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import { containerVariables } from "./container-settings.ts";
import { type PoolSettings, poolVariables, readPool } from "./pool-settings.ts";

export interface Configuration {
  mode: "self-hosted" | "cloud";
  port: number;
  host: string;
  /** Where people and git hosts reach the platform, without a slash at the end. */
  baseUrl: string;
  /** Absolute. */
  dataFolder: string;
  /** Undefined: the embedded database. */
  databaseUrl: string | undefined;
  gitWebhookSecret: string | undefined;
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  trustedProxies: string[];
  /** Projects without a domain are served at `<slug>.<baseDomain>`. */
  baseDomain: string;
  /** Undefined: the proxy's own default authority. */
  acmeDirectory: string | undefined;
  /** Authenticated API, per token and minute. */
  apiPerMinute: number;
  /** Between two looks at the branch of an auto-deployed project, for pushes whose delivery never came; 0: never. */
  reconcileSeconds: number;
  /** DNS servers for names that users give and for checks of DNS, `address` or `address:port`; empty: the system's. */
  resolvers: string[];
  /** Addresses and CIDR ranges that guarded requests reach although they are not public. */
  allowPrivateTargets: string[];
  /** How e-mail is sent; undefined: not at all. The URL may hold a password. */
  smtp: { url: string; from: string } | undefined;
  logLevel: (typeof logLevels)[number];
  /** Of the cloud alone: where projects without a server of their own run. */
  pool: PoolSettings;
  /** ECS_AGENT_URI: where a container of the cloud says that it is at work. */
  taskAgentUrl: string | undefined;
  /** For the person who started it; nothing is wrong enough to stop. */
  warnings: string[];
}

export interface Surroundings {
  isRoot: boolean;
  workingDirectory: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const known = [
  "SLIPWAY_MODE",
  "SLIPWAY_BASE_URL",
  "SLIPWAY_DATA_DIR",
  "SLIPWAY_TRUSTED_PROXIES",
  "SLIPWAY_BASE_DOMAIN",
  "SLIPWAY_ACME_DIRECTORY",
  "SLIPWAY_API_LIMIT",
  "SLIPWAY_RECONCILE_SECONDS",
  "SLIPWAY_RESOLVERS",
  "SLIPWAY_ALLOW_PRIVATE_TARGETS",
  "SLIPWAY_SMTP_URL",
  "SLIPWAY_SMTP_FROM",
  "SLIPWAY_LOG_LEVEL",
  ...poolVariables,
  ...containerVariables,
];

const logLevels = ["debug", "info", "warn", "error"] as const;

/** Throws `StartFailure` (`configuration_invalid`) for the first wrong value. An empty value counts as unset. */
export function readConfiguration(environment: Environment, surroundings: Surroundings): Configuration {
  const value = (name: string) => environment[name]?.trim() || undefined;
  const mode = readMode(value("SLIPWAY_MODE"));
  const port = readNumber("PORT", value("PORT"), { default: 3000, least: 1, most: 65_535 });
  const host = readHost(value("HOST"));
  const databaseUrl = readDatabaseUrl(value("DATABASE_URL"));
  if (mode === "cloud" && databaseUrl === undefined) {
    throw wrong(
      "DATABASE_URL",
      "is missing, and cloud mode has no embedded database",
      "postgres://user@db.example/slipway",
    );
  }
  return {
    mode,
    port,
    host,
    baseUrl: readBaseUrl(value("SLIPWAY_BASE_URL")) ?? `http://${reachable(host)}:${port}`,
    dataFolder: resolve(
      surroundings.workingDirectory,
      value("SLIPWAY_DATA_DIR") ?? defaultDataFolder(surroundings),
    ),
    databaseUrl,
    gitWebhookSecret: readWebhookSecret(value("GIT_WEBHOOK_SECRET")),
    trustedProxies: readRanges("SLIPWAY_TRUSTED_PROXIES", value("SLIPWAY_TRUSTED_PROXIES")),
    baseDomain: readDomain(value("SLIPWAY_BASE_DOMAIN")),
    acmeDirectory: readUrl("SLIPWAY_ACME_DIRECTORY", value("SLIPWAY_ACME_DIRECTORY")),
    apiPerMinute: readNumber("SLIPWAY_API_LIMIT", value("SLIPWAY_API_LIMIT"), {
      default: limits.apiPerMinute,
      least: 1,
      most: 10_000_000,
    }),
    reconcileSeconds: readNumber("SLIPWAY_RECONCILE_SECONDS", value("SLIPWAY_RECONCILE_SECONDS"), {
      default: limits.reconcileMs / 1000,
      least: 0,
      most: 86_400,
    }),
    resolvers: readResolvers(value("SLIPWAY_RESOLVERS")),
    allowPrivateTargets: readRanges("SLIPWAY_ALLOW_PRIVATE_TARGETS", value("SLIPWAY_ALLOW_PRIVATE_TARGETS")),
    smtp: readSmtp(value("SLIPWAY_SMTP_URL"), value("SLIPWAY_SMTP_FROM")),
    logLevel: readLogLevel(value("SLIPWAY_LOG_LEVEL")),
    pool: readPool(value, mode),
    taskAgentUrl: value("ECS_AGENT_URI"),
    warnings: unknownNames(environment),
  };
}

/** Where it listens, as this machine reaches it. */
export function listeningAt({ host, port }: Pick<Configuration, "host" | "port">): string {
  return `http://${reachable(host)}:${port}`;
}

/** As root the database runs under another uid, which needs parents that it may pass; a clone seldom has them. */
function defaultDataFolder(surroundings: Surroundings): string {
  return surroundings.isRoot ? "/var/lib/slipway-platform" : ".slipway";
}

function readMode(value: string | undefined): Configuration["mode"] {
  if (value === undefined || value === "self-hosted") return "self-hosted";
  if (value === "cloud") return "cloud";
  throw wrong("SLIPWAY_MODE", `is "${value}"`, "self-hosted (the default) or cloud");
}

function readLogLevel(value = "info"): Configuration["logLevel"] {
  const level = logLevels.find((each) => each === value);
  if (level !== undefined) return level;
  throw wrong("SLIPWAY_LOG_LEVEL", `is "${value}"`, `${logLevels.slice(0, -1).join(", ")} or error`);
}

function readNumber(
  name: string,
  value: string | undefined,
  bounds: { default: number; least: number; most: number },
): number {
  if (value === undefined) return bounds.default;
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= bounds.least && number <= bounds.most) return number;
  throw wrong(
    name,
    `is "${value}", not a whole number from ${bounds.least} to ${bounds.most}`,
    String(bounds.default),
  );
}

function readHost(value: string | undefined): string {
  if (value === undefined) return "127.0.0.1";
  if (isIP(value) !== 0 || value === "localhost") return value;
  throw wrong(
    "HOST",
    `is "${value}", not an address of this machine to listen on`,
    "127.0.0.1, 0.0.0.0 or ::",
  );
}

/** An address that listens on everything is none to call. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIP(host) === 6 ? `[${host}]` : host;
}

function readUrl(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.parse(value);
  const isWeb = url !== null && (url.protocol === "http:" || url.protocol === "https:");
  if (!isWeb || url.username !== "" || url.search !== "" || url.hash !== "") {
    throw wrong(name, `is "${value}", not a plain http or https address`, "https://slipway.example.com");
  }
  return value;
}

function readBaseUrl(value: string | undefined): string | undefined {
  return readUrl("SLIPWAY_BASE_URL", value)?.replace(/\/+$/, "");
}

/** The value may hold a password and is never repeated in a message. */
function readDatabaseUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const protocol = URL.parse(value)?.protocol;
  if (protocol === "postgres:" || protocol === "postgresql:") return value;
  throw wrong(
    "DATABASE_URL",
    "is not a Postgres address",
    "postgres://user:password@db.example.com:5432/slipway",
  );
}

/** GitHub and its like take any text; a short one can be guessed from one signed delivery. */
function readWebhookSecret(value: string | undefined): string | undefined {
  if (value === undefined || value.length >= limits.webhookSecretLength) return value;
  throw wrong("GIT_WEBHOOK_SECRET", "is shorter than 16 characters", 'the output of "openssl rand -hex 32"');
}

function readList(value: string | undefined): string[] {
  const entries = (value ?? "").split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "");
}

function readRanges(name: string, value: string | undefined): string[] {
  return readList(value).map((entry) => readRange(name, entry));
}

function readRange(name: string, entry: string): string {
  const [address = "", prefix, ...rest] = entry.split("/");
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  const prefixFits = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= widest);
  if (version !== 0 && prefixFits && rest.length === 0) return entry;
  throw wrong(name, `has "${entry}", neither an address nor a range`, "127.0.0.1,10.0.0.0/8");
}

function readResolvers(value: string | undefined): string[] {
  return readList(value).map((entry) => {
    const [, address = "", port = "53"] = /^\[?([0-9A-Fa-f.:]+?)\]?(?::(\d{1,5}))?$/.exec(entry) ?? [];
    if (isIP(entry) !== 0 || (isIP(address) !== 0 && Number(port) >= 1 && Number(port) <= 65_535))
      return entry;
    throw wrong("SLIPWAY_RESOLVERS", `has "${entry}", not an address`, "9.9.9.9,127.0.0.1:5353,[::1]:53");
  });
}

/** The URL may hold a password and is never repeated in a message. */
function readSmtp(url: string | undefined, from: string | undefined): Configuration["smtp"] {
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if ((parsed?.protocol !== "smtp:" && parsed?.protocol !== "smtps:") || parsed.hostname === "") {
    throw wrong("SLIPWAY_SMTP_URL", "is not an SMTP address", "smtp://user:password@mail.example.com:587");
  }
  if (from === undefined || !/^([^\p{Cc}<>"]* )?<?[^\s@<>",\p{Cc}]+@[^\s@<>",\p{Cc}]+>?$/u.test(from)) {
    throw wrong(
      "SLIPWAY_SMTP_FROM",
      from === undefined ? "is missing, and SLIPWAY_SMTP_URL is set" : `is "${from}", not a sender`,
      "Slipway <slipway@example.com>",
    );
  }
  return { url, from };
}

function readDomain(value: string | undefined): string {
  if (value === undefined) return "localhost";
  const domain = value.toLowerCase();
  const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
  if (domain.length <= 190 && new RegExp(`^${label}(\\.${label})*$`).test(domain)) return domain;
  throw wrong("SLIPWAY_BASE_DOMAIN", `is "${value}", not a domain`, "apps.example.com");
}

function unknownNames(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith("SLIPWAY_") && !known.includes(name))
    .sort()
    .map((name) => `${name} is set, but this version knows no such variable. It knows ${known.join(", ")}.`);
}

function wrong(name: string, what: string, example: string): StartFailure {
  return new StartFailure("configuration_invalid", `${name} ${what}. For example: ${example}`);
}
