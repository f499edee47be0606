/** The address at which a git host calls, and whether one in the internet can. */
import { createAddressRules, literalAddress } from "../../../shared/adapters/address-rules.ts";

/** The hook's id is a hint that picks the secret first, never an authority. */
export function webhookUrl(baseUrl: string, hookId: string): string {
  return `${baseUrl}/api/webhooks/git_host?hook=${hookId}`;
}

const localNames = /(^|\.)(localhost|local|internal|test)$/i;

/** Of what can be told without asking: names of this machine and addresses that are not public. */
export function isOutOfReach(baseUrl: string): boolean {
  const hostname = URL.parse(baseUrl)?.hostname ?? "";
  const literal = literalAddress(hostname);
  return literal === null ? localNames.test(hostname) : !createAddressRules()(literal);
}
