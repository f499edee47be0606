/**
 * What is read of a delivery. The body is parsed once; before the signature holds, only the name of the repository is
 * taken from it, to choose secrets. What is verified and what is used later is the same value, so a body that says a
 * thing twice cannot choose one project's secret and then name another project.
 */
import { type Bytes, sha256Hex } from "../../shared/crypto/bytes.ts";
import { limits } from "../../shared/domain/limits.ts";

export interface ReadDelivery {
  /** `owner/repo` in lower case; null when the body does not name one. All that may be used before verification. */
  repository: string | null;
  /** undefined when the body is not JSON. */
  payload: unknown;
}

export function readDelivery(body: Bytes): ReadDelivery {
  const payload = parse(body);
  return { payload, repository: repositoryOf(payload) };
}

export interface DeliveryHeaders {
  event: string | null;
  /** The sender's id, or the hash of the body. */
  deliveryId: string;
  signature: string | null;
  /** What is stored for the inbox: nothing that could be a credential. */
  kept: Record<string, string>;
}

export async function readHeaders(headers: Headers, body: Bytes): Promise<DeliveryHeaders> {
  const event = headers.get("x-provider-event") ?? headers.get("x-github-event");
  const id = headers.get("x-provider-delivery") ?? headers.get("x-github-delivery");
  const signature = headers.get("x-hub-signature-256");
  const kept: Record<string, string> = {};
  const names = [
    "content-type",
    "user-agent",
    "x-hub-signature-256",
    "x-provider-event",
    "x-provider-delivery",
  ];
  for (const name of [...names, "x-github-event", "x-github-delivery"]) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value.slice(0, 500);
  }
  return {
    event: event === null || event.trim() === "" ? null : event.trim().slice(0, 100),
    deliveryId: await deliveryIdOf(id, body),
    signature,
    kept,
  };
}

async function deliveryIdOf(given: string | null, body: Bytes): Promise<string> {
  if (given === null || given.trim() === "") return `sha256:${await sha256Hex(body)}`;
  const id = given.trim();
  return id.length <= limits.deliveryIdLength ? id : `sha256:${await sha256Hex(id)}`;
}

function parse(body: Bytes): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function repositoryOf(payload: unknown): string | null {
  const name = field(field(payload, "repository"), "full_name");
  if (typeof name !== "string" || name.length > 201 || !/^[^/\s\p{Cc}]+\/[^/\s\p{Cc}]+$/u.test(name))
    return null;
  return name.isWellFormed() ? name.toLowerCase() : null;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
