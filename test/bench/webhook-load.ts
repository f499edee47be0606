/** The deliveries of the webhook rows: 10 kB, signed, of a branch that nothing deploys, each with an id of its own. */
import { createHmac, randomBytes } from "node:crypto";
import type { LinkedProject } from "../demo/main-job.ts";
import type { LoadRequest } from "./load.ts";

const bodyBytes = 10_000;

/** Everything but the port and the count. */
export function deliveries(
  project: LinkedProject,
  signed: "well" | "badly",
): Omit<LoadRequest, "port" | "requests"> {
  const { owner, repo, secret } = project;
  const url = new URL(project.webhookUrl);
  const body = pushBody(owner, repo);
  const key = signed === "well" ? secret : "another secret";
  const signature = createHmac("sha256", key).update(body).digest("hex");
  return {
    connections: 16,
    head: [
      `POST ${url.pathname}${url.search} HTTP/1.1`,
      `Host: ${url.host}`,
      "Content-Type: application/json",
      "X-Forwarded-For: {ip}",
      "CF-Connecting-IP: {ip}",
      `X-Hub-Signature-256: sha256=${signature}`,
      "X-Provider-Event: push",
      `X-Provider-Delivery: bench-${randomBytes(6).toString("hex")}-{n}`,
    ],
    body,
    status: signed === "well" ? 200 : 401,
  };
}

function pushBody(owner: string, repo: string): string {
  const payload = {
    ref: "refs/heads/not-deployed",
    before: "1".repeat(40),
    after: "2".repeat(40),
    deleted: false,
    repository: { full_name: `${owner}/${repo}`, default_branch: "main" },
    head_commit: { id: "2".repeat(40), message: "Bench", added: [], removed: [], modified: [] as string[] },
    commits: [],
  };
  while (JSON.stringify(payload).length < bodyBytes - 60) {
    payload.head_commit.modified.push(`source/${randomBytes(16).toString("hex")}.ts`);
  }
  return JSON.stringify(payload);
}
