/** `slipway deploy`: starts a deployment, from git or from a folder, and on a terminal follows it to its end. */
import { createDeployment } from "../shared/contract/deployments.ts";
import type { Api } from "./api/connect.ts";
import { findProject } from "./api/find.ts";
import type { Deployment, Project } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { finish } from "./frame/finish.ts";
import { follows } from "./frame/follow-option.ts";
import { uploadFolder } from "./upload-folder.ts";

export const defineDeploy: Define = (command, context) => {
  command
    .argument("<project>", "id, slug or name")
    .option("--branch <branch>", "default: the branch of the project")
    .option("--commit <sha>", "full commit id; default: the head of the branch")
    .option("--upload [folder]", "upload a folder instead (default: the one you are in)")
    .option("--cloud", "promote the project to the linked cloud, and deploy it there from now on")
    .option("--follow", "wait and show what happens (the default on a terminal)")
    .option("--no-follow", "return as soon as it is queued")
    .action(async (named: string, options: Options) => {
      const api = await context.api();
      const project = await findProject(api, named);
      const folder = folderOf(project, options);
      const started =
        folder === null
          ? await deployFromGit(api, project, options)
          : await uploadFolder(api, context, project, folder);
      await finish(api, context, started, follows(options, context));
    });
  examples(
    command,
    "deploy shop",
    "deploy notes --upload ./site",
    "deploy shop --branch release --no-follow",
    "deploy shop --cloud",
    "deploy shop --follow --json",
  );
};

interface Options {
  branch?: string;
  commit?: string;
  upload?: string | true;
  cloud?: boolean;
  follow?: boolean;
}

/** A project of uploads takes the folder one is in; one of git only when it is asked to. */
function folderOf({ source }: Project, { upload, branch, commit, cloud }: Options): string | null {
  if (upload !== undefined && cloud === true) throw usage("Folders are not deployed to the cloud.");
  if (upload === undefined && source.kind === "git") return null;
  if (branch !== undefined || commit !== undefined)
    throw usage("An upload has neither a branch nor a commit.");
  return typeof upload === "string" ? upload : ".";
}

async function deployFromGit(
  api: Api,
  project: Project,
  { branch, commit, cloud }: Options,
): Promise<Deployment> {
  const { data } = await api.call(createDeployment, {
    json: {
      projectId: project.id,
      trigger: "cli",
      ...(branch === undefined ? {} : { branch }),
      ...(commit === undefined ? {} : { commitSha: commit }),
      ...(cloud === true ? { deployTarget: "cloud" as const } : {}),
    },
  });
  return data;
}
