/**
 * Whether the config of a channel is right for its kind, each wrong field named, and the columns it becomes. Only
 * scheme and syntax are checked when it is saved (decisions.md section 6): what a name leads to is asked when something
 * is sent, every time. Secrets that are sent back in the form in which they were shown count as left out.
 */
import { createAddressRules, literalAddress } from "../../shared/adapters/address-rules.ts";
import { looksSealed } from "../../shared/crypto/seal.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { ChannelKind } from "../../shared/domain/notification.ts";
import { invalid } from "../../shared/domain/refusal.ts";
import { isSigningKey } from "./channels/webhook.ts";

type Config = Readonly<Record<string, unknown>>;

/** `undefined` in `secret`: none was given. */
export interface AcceptedConfig {
  config: { address?: string; url?: string };
  secret: string | undefined;
}

const slackHost = "hooks.slack.com";

/** `given` may leave out what `kept` has already. Throws a `Refusal`. */
export function acceptConfig(
  kind: ChannelKind,
  given: Config,
  kept: { config: AcceptedConfig["config"]; hasSecret: boolean } | null,
): AcceptedConfig {
  requireKnown(kind, given);
  switch (kind) {
    case "email":
      return {
        config: { address: emailAddress(given["address"] ?? kept?.config.address) },
        secret: undefined,
      };
    case "webhook": {
      const url = webUrl(given["url"] ?? kept?.config.url, "body.config.url");
      return { config: { url: url.href }, secret: signingKey(shownOrNew(given["signingKey"])) };
    }
    case "slack": {
      const webhookUrl = shownOrNew(given["webhookUrl"]);
      if (webhookUrl === undefined && kept?.hasSecret === true) return { config: {}, secret: undefined };
      return { config: {}, secret: slackUrl(webhookUrl) };
    }
    case "in_app":
      return { config: {}, secret: undefined };
  }
}

const fields: Record<ChannelKind, readonly string[]> = {
  email: ["address"],
  webhook: ["url", "signingKey"],
  slack: ["webhookUrl"],
  in_app: [],
};

function requireKnown(kind: ChannelKind, given: Config): void {
  const unknown = Object.keys(given).find((field) => !fields[kind].includes(field));
  if (unknown === undefined) return;
  const known = fields[kind].length === 0 ? "none" : fields[kind].join(" and ");
  throw invalid(`body.config.${unknown}`, `is not a field of this kind of channel; it has ${known}`);
}

/** The form in which secrets are shown. */
function shownOrNew(value: unknown): unknown {
  return typeof value === "object" && value !== null && "set" in value ? undefined : value;
}

const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const hostName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** No quotes, comments, lists or line breaks: nothing that a header could read otherwise. IDN as punycode. */
function emailAddress(value: unknown): string {
  const text = typeof value === "string" ? value.trim() : "";
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(at, 0));
  const host = text.slice(at + 1).toLowerCase();
  const fits = text.length <= 254 && local.length <= 64 && localPart.test(local) && hostName.test(host);
  if (!fits) throw invalid("body.config.address", "must be an e-mail address");
  return `${local}@${host}`;
}

function webUrl(value: unknown, path: string): URL {
  const text = typeof value === "string" ? value : "";
  const url = URL.parse(text);
  // URL leaves out tabs and line breaks by itself; nobody means them.
  const plain = text.length <= 2_000 && !/[\s\p{Cc}]/u.test(text);
  if (url === null || !plain || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw invalid(path, "must be an http or https URL");
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid(path, "must not hold a user name or password; deliveries are signed");
  }
  url.hash = "";
  return url;
}

function slackUrl(value: unknown): string {
  const path = "body.config.webhookUrl";
  const says = `must be an https URL on ${slackHost}`;
  if (typeof value !== "string") throw invalid(path, says);
  const url = webUrl(value, path);
  const right = url.protocol === "https:" && url.hostname === slackHost && url.port === "";
  if (!right || url.pathname.length < 2) throw invalid(path, says);
  return url.href;
}

function signingKey(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const path = "body.config.signingKey";
  const most = limits.signingKeyLength;
  if (typeof value !== "string" || value.length < 1 || value.length > most) {
    throw invalid(path, `must have 1 to ${most} characters`);
  }
  if (looksSealed(value)) throw invalid(path, "must not start with `sealed:v`");
  if (!isSigningKey(value)) throw invalid(path, "must be base64 behind `whsec_`, or any other text");
  return value;
}

const isPublic = createAddressRules();

/** What will not work, or not everywhere, although the form is right. */
export function warningsOf({ url }: AcceptedConfig["config"]): string[] {
  const address = url === undefined ? null : literalAddress(new URL(url).hostname);
  if (address === null || isPublic(address)) return [];
  return [`${address} is not a public address: deliveries are refused unless an operator allows it.`];
}
