/**
 * What a body says, for a person: named fields and nothing else, each with a bound. Rejected: the body as it came (events
 * of some hosts carry tokens and addresses of people, and nobody reads 5 MiB).
 */
import { z } from "@hono/zod-openapi";
import type { webhookDeliveryDetail } from "../../../shared/contract/deliveries.ts";

const commitsShown = 20;
const textLength = 500;

const text = z.string().transform((value) => plain(value));
const given = <S extends z.ZodType>(schema: S) => schema.optional().catch(undefined);

const commit = z.object({ id: given(text), message: given(text), timestamp: given(text) });

const view = z.object({
  action: given(text),
  ref: given(text),
  before: given(text),
  after: given(text),
  created: given(z.boolean()),
  deleted: given(z.boolean()),
  forced: given(z.boolean()),
  zen: given(text),
  repository: given(z.object({ full_name: given(text), default_branch: given(text) })),
  pusher: given(z.object({ name: given(text) })),
  sender: given(z.object({ login: given(text) })),
  head_commit: given(commit),
  commits: given(z.array(z.unknown())),
});

type Payload = z.infer<typeof webhookDeliveryDetail>["payload"];

/** null: the body is no JSON object. */
export function viewPayload(body: Uint8Array): Payload {
  const parsed = view.safeParse(parse(body));
  if (!parsed.success) return null;
  const { commits, ...shown } = parsed.data;
  if (commits === undefined) return shown;
  const first = commits.slice(0, commitsShown).flatMap((each) => commit.safeParse(each).data ?? []);
  return { ...shown, commits: first, commitCount: commits.length };
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function plain(value: string): string {
  return value
    .slice(0, textLength)
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, "");
}
