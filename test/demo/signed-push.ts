/** What a git host sends after a push: its event as JSON, signed with the secret of the project's hook. */
import { createHmac, randomUUID } from "node:crypto";

export interface Push {
  webhookUrl: string;
  secret: string;
  owner: string;
  repo: string;
  branch: string;
  before: string;
  after: string;
  message: string;
  /** Default: a fresh one. */
  deliveryId?: string;
}

export async function sendSignedPush(push: Push): Promise<{ status: number; body: unknown }> {
  const body = JSON.stringify({
    ref: `refs/heads/${push.branch}`,
    before: push.before,
    after: push.after,
    deleted: false,
    repository: { full_name: `${push.owner}/${push.repo}`, default_branch: push.branch },
    head_commit: { id: push.after, message: push.message, added: [], removed: [], modified: ["server.js"] },
    commits: [],
  });
  const signature = createHmac("sha256", push.secret).update(body).digest("hex");
  const response = await fetch(push.webhookUrl, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-hub-signature-256": `sha256=${signature}`,
      "x-provider-event": "push",
      "x-provider-delivery": push.deliveryId ?? randomUUID(),
    },
    body,
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: await response.json() };
}
