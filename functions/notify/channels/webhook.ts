/**
 * A webhook by the rules of Standard Webhooks: id, timestamp and signature in headers, so that any of their libraries
 * verifies it. The id is that of the delivery and the same in every attempt: a receiver that keeps it takes nothing twice.
 */
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { limits } from "../../../shared/domain/limits.ts";
import type { Outgoing } from "../../../shared/ports/outgoing.ts";
import { judge, judgeFailure, type Message, type Send } from "./outcome.ts";

export function createWebhookSender(outgoing: Outgoing): Send {
  return async ({ config, secret }, message, nowMs) => {
    const body = webhookBody(message);
    const at = new Date(nowMs);
    const headers = {
      "content-type": "application/json",
      "user-agent": "Slipway",
      "webhook-id": message.id,
      "webhook-timestamp": String(Math.floor(nowMs / 1000)),
      "webhook-signature": signer(secret ?? "").sign(message.id, at, body),
    };
    const request = {
      method: "POST",
      url: config.url ?? "",
      headers,
      body,
      deadlineMs: limits.sendMs,
    } as const;
    return outgoing.send(request).then(judge, judgeFailure);
  };
}

/** What the receiver parses. */
function webhookBody({ id, category, createdAt, ...more }: Message): string {
  return JSON.stringify({ type: category, timestamp: createdAt, data: { id, category, ...more, createdAt } });
}

export function makeSigningKey(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** `whsec_` must be followed by base64; any other text is a key by its UTF-8 bytes. */
export function isSigningKey(key: string): boolean {
  if (!key.startsWith("whsec_")) return key.length >= 1;
  return /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/.test(key);
}

function signer(key: string): Webhook {
  return key.startsWith("whsec_")
    ? new Webhook(key)
    : new Webhook(new TextEncoder().encode(key), { format: "raw" });
}
