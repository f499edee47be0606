/**
 * Projects whose every field that takes it holds one hostile string, and a repository in which the branch and the folder of that name
 * are really there, so that the string goes all the way: fetch, build, release, probe, switch, rollback, push, clean-up.
 */
import { expect } from "vitest";
import { sendSignedPush } from "../demo/signed-push.ts";
import type { RunningPlatform } from "../functions/running-platform.ts";
import type { LabGitServer } from "../lab/git-server.ts";
import type { HostileString } from "./hostile-strings.ts";

export interface HostileProjects {
  platform: RunningPlatform;
  git: LabGitServer;
  serverId: string;
  owner: string;
  /** Values of the environment of every project. */
  values: readonly string[];
}

/** Ends at once when asked to, and answers every path. */
const app = `process.on("SIGTERM", () => process.exit(0));
require("node:http").createServer((request, response) => response.end("ok")).listen(process.env.PORT);`;
const dockerfile = `FROM node:24-bookworm-slim\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n`;

/** One life of such a project; answers the places that took the string. */
export async function liveWith(
  { platform, git, serverId, owner, values }: HostileProjects,
  { mark, text }: HostileString,
): Promise<string[]> {
  const { call, settled } = platform;
  // Without the mark, which is looked for in arguments.
  const repo = `r${mark.replace(/\D/g, "")}`;
  await git.createRepository(owner, repo);
  const source = { kind: "git", owner, repo, branch: "main", cloneUrl: git.url(owner, repo) };
  const plain = { name: repo, serverId, source, build: { port: 3000 }, healthCheck: { path: "/" } };
  const made = await call("POST", "/api/projects", plain);
  expect([made.status, made.text]).toEqual([201, made.text]);
  const { id } = made.body.data;
  const path = `/api/projects/${id}`;

  const taken: string[] = [];
  const tries: Record<string, Record<string, unknown>> = {
    name: { name: text.slice(0, 90) },
    branch: { source: { ...source, branch: text } },
    rootDirectory: { rootDirectory: text },
    healthPath: { healthCheck: { path: text } },
  };
  for (const [field, change] of Object.entries(tries)) {
    const { status } = await call("PATCH", path, change);
    expect([200, 400]).toContain(status);
    if (status === 200) taken.push(field);
  }
  const branch = taken.includes("branch") ? text : "main";
  const folder = taken.includes("rootDirectory") ? `${text.replace(/\/+/g, "/").replace(/\/$/, "")}/` : "";
  const files = { [quoted(`${folder}Dockerfile`)]: dockerfile, [quoted(`${folder}app.js`)]: app };
  const commit = { branch, files, message: text.replaceAll("\0", "") };
  const after = await git.commit(owner, repo, commit);

  const env = Object.fromEntries(values.map((value, index) => [`VALUE_${index}`, value]));
  expect((await call("PUT", `${path}/env`, { set: env })).status).toBe(200);
  const first = await call("POST", "/api/deployments", { projectId: id });
  expect([first.status, first.text]).toEqual([202, first.text]);
  expect(await settled(first.body.data.id)).toMatchObject({ status: "ready", error: null, commitSha: after });

  const hook = await call("POST", `${path}/link`);
  const { webhookUrl, webhookSecret: secret } = hook.body.data;
  const push = { owner, repo, branch, before: "0".repeat(40), after, message: text };
  const url = platform.url + new URL(webhookUrl).pathname + new URL(webhookUrl).search;
  const told = await sendSignedPush({ ...push, webhookUrl: url, secret });
  expect(told.status).toBe(200);
  const odd = await sendSignedPush({ ...push, after: text, before: text, webhookUrl: url, secret });
  expect(odd.status).toBe(200);

  const newest = await call("GET", `/api/deployments?projectId=${id}&limit=10`);
  for (const deployment of newest.body.data) await settled(deployment.id);
  const back = await call("POST", `/api/deployments/${first.body.data.id}/rollback`);
  if (back.status === 202) expect(await settled(back.body.data.id)).toMatchObject({ status: "ready" });
  else expect([back.status, back.body.code]).toEqual([400, "already_active"]);
  return taken;
}

/** As git's fast-import takes a path that begins with a quote. */
function quoted(path: string): string {
  return path.startsWith('"') ? `"${path.replace(/["\\]/g, "\\$&")}"` : path;
}
