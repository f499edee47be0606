/** The variables of a service: sealed as one value, shown as keys and keyed fingerprints. */
import { fingerprint, looksSealed } from "../../../shared/crypto/seal.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { invalid } from "../../../shared/domain/refusal.ts";
import { serviceEnvironmentPlace } from "../../../shared/domain/sealed-place.ts";
import type { PlatformParts } from "../parts.ts";

type Variables = Readonly<Record<string, string>>;

/** null removes a key. */
export type VariablesChange = Readonly<Record<string, string | null>>;

interface Owned {
  id: string;
  organizationId: string;
}

export async function openVariables(
  { sealer }: PlatformParts,
  service: Owned & { sealedEnvironment: string },
): Promise<Variables> {
  const text = await sealer.open("env", serviceEnvironmentPlace(service), service.sealedEnvironment);
  return JSON.parse(text) as Variables;
}

export function sealVariables(
  { sealer }: PlatformParts,
  service: Owned,
  variables: Variables,
): Promise<string> {
  return sealer.seal("env", serviceEnvironmentPlace(service), JSON.stringify(variables));
}

export function changeVariables(before: Variables, change: VariablesChange): Variables {
  const next = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(change)) {
    if (value === null) next.delete(key);
    else if (looksSealed(value)) throw invalid(`body.environment.${key}`, "must not start with `sealed:v`");
    else next.set(key, value);
  }
  if (next.size > limits.envEntries) {
    throw invalid("body.environment", `would make more than ${limits.envEntries} entries`);
  }
  return Object.fromEntries([...next].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export async function showVariables({ fingerprintKey }: PlatformParts, { id }: Owned, variables: Variables) {
  const shown = Object.entries(variables).map(async ([key, value]) => ({
    key,
    fingerprint: await fingerprint(value, fingerprintKey, `${id}/${key}`),
  }));
  return Promise.all(shown);
}
