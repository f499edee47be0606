/** A linked project on a server that nobody reaches: for what is about requests alone. */
import * as projects from "../../shared/contract/projects.ts";
import * as servers from "../../shared/contract/servers.ts";
import type { Client, LinkedProject } from "../demo/main-job.ts";
import { generateKeyPair } from "../lab/key-pair.ts";

export async function linkQuietProject(client: Client): Promise<LinkedProject> {
  const { data: server } = await client.call(servers.createServer, {
    json: {
      name: "nowhere",
      host: "127.0.0.1",
      port: 9,
      auth: { kind: "key", privateKey: generateKeyPair().privateKey },
      hostKey: generateKeyPair().publicKey,
    },
  });
  const [owner, repo] = ["bench", "quiet"];
  const { data: project } = await client.call(projects.createProject, {
    json: { name: repo, serverId: server.id, source: { kind: "git", owner, repo, branch: "main" } },
  });
  const { data: hook } = await client.call(projects.linkProject, { params: { id: project.id }, query: {} });
  if (hook.webhookSecret === undefined) throw new Error("The first link did not show its secret.");
  return { id: project.id, owner, repo, webhookUrl: hook.webhookUrl, secret: hook.webhookSecret };
}
