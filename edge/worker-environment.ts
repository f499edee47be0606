/**
 * The settings of the worker: bindings and secrets that it cannot do without are asked for by name. The worker has no
 * start that could be refused, so every request is answered 503 until they are there.
 */
import type { IdentityKey, KeyRing } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import { type ReadValue, readIdentityKey, readRings } from "../shared/domain/module-secrets.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import type { ModuleName } from "../shared/ports/forwarder.ts";
import type { ConsoleLogLevel } from "./adapters/console-log.ts";
import type { Shield } from "./adapters/shielded-limiter.ts";
import type { SqsSenderOptions } from "./adapters/sqs-sender.ts";

/** Texts, and one binding that is none. */
export type WorkerEnvironment = Readonly<Record<string, string | Shield | undefined>>;

export interface WorkerSettings {
  mode: "self-hosted" | "cloud";
  baseUrl: string;
  databaseUrl: string;
  neonEndpoint: string | undefined;
  origins: Record<ModuleName, string>;
  rings: { webhook: KeyRing; idempotency: KeyRing };
  identityKey: IdentityKey;
  instanceWebhookSecret: string | null;
  queue: SqsSenderOptions;
  apiPerMinute: number;
  logLevel: ConsoleLogLevel;
  shield: Shield;
}

/** Throws `StartFailure` for the first that is missing or wrong. */
export function readWorkerSettings(environment: WorkerEnvironment): WorkerSettings {
  const value: ReadValue = (name) => {
    const given = environment[name];
    return typeof given === "string" && given.trim() !== "" ? given.trim() : undefined;
  };
  const needed = (name: string, example: string): string => {
    const given = value(name);
    if (given === undefined) throw missing(name, example);
    return given;
  };
  const shield = environment["SHIELD"];
  if (typeof shield !== "object") throw missing("SHIELD", "the rate limit binding of edge/wrangler.jsonc");
  const level = value("SLIPWAY_LOG_LEVEL") ?? "info";
  return {
    mode: value("SLIPWAY_MODE") === "self-hosted" ? "self-hosted" : "cloud",
    baseUrl: needed("SLIPWAY_BASE_URL", "https://slipway.example.com").replace(/\/+$/, ""),
    databaseUrl: needed("DATABASE_URL", "postgres://edge:password@ep-x.eu-central-1.aws.neon.tech/slipway"),
    neonEndpoint: value("SLIPWAY_NEON_ENDPOINT"),
    origins: {
      platform: needed("SLIPWAY_PLATFORM_URL", "https://functions.example.com:8443"),
      deploy: needed("SLIPWAY_DEPLOY_URL", "https://functions.example.com:8444"),
      notify: needed("SLIPWAY_NOTIFY_URL", "https://functions.example.com:8445"),
    },
    rings: readRings("edge", value),
    identityKey: readIdentityKey(value),
    instanceWebhookSecret: readWebhookSecret(value("GIT_WEBHOOK_SECRET")),
    queue: {
      queueUrl: needed("SLIPWAY_QUEUE_DEPLOY", "https://sqs.eu-central-1.amazonaws.com/123/deploy.fifo"),
      region: needed("AWS_REGION", "eu-central-1"),
      accessKeyId: needed("AWS_ACCESS_KEY_ID", "of a user who may send to the queue and nothing else"),
      secretAccessKey: needed("AWS_SECRET_ACCESS_KEY", "of the same user"),
    },
    apiPerMinute: readLimit(value("SLIPWAY_API_LIMIT")),
    logLevel: level === "debug" || level === "warn" || level === "error" ? level : "info",
    shield,
  };
}

/** As everywhere: a short one can be guessed from one signed delivery. */
function readWebhookSecret(given: string | undefined): string | null {
  if (given === undefined || given.length >= limits.webhookSecretLength) return given ?? null;
  throw missing("GIT_WEBHOOK_SECRET", 'at least 16 characters: the output of "openssl rand -hex 32"');
}

function readLimit(given: string | undefined): number {
  if (given === undefined) return limits.apiPerMinute;
  if (/^[1-9]\d{0,6}$/.test(given)) return Number(given);
  throw missing("SLIPWAY_API_LIMIT", String(limits.apiPerMinute));
}

function missing(name: string, example: string): StartFailure {
  return new StartFailure("configuration_invalid", `${name} is missing or wrong. For example: ${example}`);
}
