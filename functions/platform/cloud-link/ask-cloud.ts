/**
 * Whether a Slipway answers at an address, and takes a token: asked before a link is stored, so that a mistake is told
 * to the person who makes it and not to the next deployment. Each wrong thing names its field. The token goes out only
 * after the address has said that it is a Slipway, and follows no redirect.
 */
import { z } from "zod";
import { invalid, Refusal } from "../../../shared/domain/refusal.ts";
import { type Outgoing, type OutgoingAnswer, OutgoingFailure } from "../../../shared/ports/outgoing.ts";

export interface CloudAccount {
  organizationId: string;
  organizationName: string;
}

const askMs = 10_000;

export async function askCloud(
  outgoing: Outgoing,
  link: { url: string; token: string },
): Promise<CloudAccount> {
  const version = await ask(outgoing, link.url, "/api/system/version");
  if (!isSlipway(version)) {
    throw invalid("body.url", "does not answer like a Slipway", "not_a_cloud");
  }
  const listed = await ask(outgoing, link.url, "/api/organizations?limit=1", link.token);
  if (listed.status === 401) {
    throw invalid("body.token", "is not taken by the cloud; make another one there", "cloud_token_refused");
  }
  await requireMay(outgoing, link, listed);
  const account = organizations.safeParse(parsed(listed.text)).data?.data[0];
  if (listed.status !== 200 || account === undefined) throw unreachable(`answers with ${listed.status}`);
  return { organizationId: account.id, organizationName: account.name };
}

const organizations = z.object({
  data: z.array(z.object({ id: z.string().min(1).max(64), name: z.string().max(200) })).min(1),
});

/** What may be written is seen when something is written; a token that does not even read is refused now. */
async function requireMay(
  outgoing: Outgoing,
  { url, token }: { url: string; token: string },
  listed: OutgoingAnswer,
): Promise<void> {
  const asked = ["/api/projects?limit=1", "/api/deployments?limit=1"];
  const answers = [listed, ...(await Promise.all(asked.map((path) => ask(outgoing, url, path, token))))];
  if (answers.every(({ status }) => status !== 403)) return;
  throw invalid(
    "body.token",
    "may not do enough in the cloud; it needs organization:read, project:write and deployment:admin",
    "cloud_token_too_weak",
  );
}

async function ask(outgoing: Outgoing, url: string, path: string, token?: string): Promise<OutgoingAnswer> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { accept: "application/json", "user-agent": "slipway", ...authorization };
  try {
    return await outgoing.send({ method: "GET", url: `${url}${path}`, headers, deadlineMs: askMs });
  } catch (cause) {
    if (cause instanceof OutgoingFailure) throw unreachable(cause.message, cause);
    throw cause;
  }
}

function isSlipway({ status, text }: OutgoingAnswer): boolean {
  const said = z.object({ data: z.object({ version: z.string(), mode: z.string() }) });
  return status === 200 && said.safeParse(parsed(text)).success;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function unreachable(message: string, cause?: unknown): Refusal {
  return new Refusal("upstream", "cloud_unreachable", `The cloud could not be asked: ${message}`, {
    details: [{ path: "body.url", message }],
    cause,
  });
}
