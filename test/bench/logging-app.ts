/** A project whose build prints what a row asks for, deployed once for each build, with the floor's build beside it. */
import * as deployments from "../../shared/contract/deployments.ts";
import { linkProject } from "../demo/main-job.ts";
import { sampleApp } from "../demo/sample-app.ts";
import type { Stage } from "./stage.ts";

export interface LoggingApp {
  projectId: string;
  /** A commit whose build runs each script as a step, and nothing of it comes from a cache. */
  commit(...scripts: string[]): Promise<string>;
  /** Starts a deployment of the commit and answers its id. */
  deploy(sha: string): Promise<string>;
  /** From where the floor fetches the same commit. */
  cloneUrl: string;
}

const owner = "bench";

export async function loggingApp(stage: Stage, repo: string): Promise<LoggingApp> {
  const { git, serverId } = await stage.servers();
  const { client } = await stage.platform();
  await git.createRepository(owner, repo);
  await git.commit(owner, repo, { files: sampleApp("0") });
  const { id: projectId } = await linkProject(client, { serverId, git, owner, repo });
  let builds = 0;
  return {
    projectId,
    cloneUrl: git.url(owner, repo),
    commit: async (...scripts) => {
      builds++;
      const app = sampleApp(String(builds));
      const run = scripts.map(
        (script) => `RUN ${JSON.stringify(["/bin/sh", "-c", `: build ${builds}; ${script}`])}`,
      );
      return git.commit(owner, repo, {
        files: {
          ...app,
          Dockerfile: app["Dockerfile"]?.replace("USER nobody", `${run.join("\n")}\nUSER nobody`) ?? "",
        },
      });
    },
    deploy: async (commitSha) => {
      const { data } = await client.call(deployments.createDeployment, { json: { projectId, commitSha } });
      return data.id;
    },
  };
}
