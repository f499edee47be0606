/** `slipway project`: what is built, from which repository, on which server. */
import { Option } from "commander";
import {
  createProject,
  deleteProject,
  linkProject,
  listProjects,
  unlinkProject,
  updateProject,
} from "../shared/contract/projects.ts";
import { listServers } from "../shared/contract/servers.ts";
import { type Api, everything } from "./api/connect.ts";
import { findProject, findServer } from "./api/find.ts";
import type { Project } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { defineProjectDomain } from "./project-domain.ts";
import { defineProjectEnv } from "./project-env.ts";
import {
  buildOptions,
  type ProjectOptions,
  parseRepository,
  settingsOf,
  sourceOf,
} from "./project-options.ts";
import { projectTable, projectText } from "./terminal/project-text.ts";

const named = ["<project>", "id, slug or name"] as const;
const projectKinds: readonly Project["kind"][] = ["app", "compose", "monorepo"];

type GitPart = Omit<Extract<Project["source"], { kind: "git" }>, "kind">;

export const defineProject: Define = (command, context) => {
  defineCreate(command.command("create"), context);
  defineReading(command, context);
  defineUpdate(command.command("update"), context);
  defineDelete(command.command("delete"), context);
  defineProjectEnv(command.command("env"), context);
  defineProjectDomain(command.command("domain"), context);
  defineLink(command, context);
  examples(command, "project create shop --server web-1 --repo acme/shop", "project env import shop .env");
};

const defineCreate: Define = (command, context) => {
  command
    .description("Create a project. Nothing is deployed yet.")
    .argument("<name>", "how to call it")
    .option("--server <server>", "id or name; may be left out while there is one server only")
    .option("--pool", "on the pool of whoever runs the cloud, not on a server of your own")
    .option("--repo <owner/repo>", "the repository")
    .option("--upload", "no repository: folders are uploaded with `slipway deploy --upload`")
    .option("--slug <slug>", "part of its address; made from the name when left out")
    .addOption(
      new Option("--kind <kind>", "an app is one container, the others have services").choices(projectKinds),
    );
  buildOptions(command).action(async (name: string, options: CreateOptions) => {
    const source = newSource(options);
    const api = await context.api();
    const { data } = await api.call(createProject, {
      json: {
        name,
        ...(await placeOf(api, options)),
        ...(options.slug === undefined ? {} : { slug: options.slug }),
        ...(options.kind === undefined ? {} : { kind: options.kind }),
        source,
        ...settingsOf(options),
      },
    });
    context.output.result(data, () => `Created ${data.slug} (${data.id}). Next: slipway deploy ${data.slug}`);
  });
  examples(
    command,
    "project create shop --server web-1 --repo acme/shop",
    "project create notes --server web-1 --upload",
    "project create api --repo acme/api --clone-url https://git.example.org/acme/api.git --port 8080 --health-path /healthz",
  );
};

type CreateOptions = ProjectOptions & {
  server?: string;
  pool?: boolean;
  repo?: string;
  upload?: boolean;
  slug?: string;
  kind?: Project["kind"];
};

function newSource(options: CreateOptions) {
  const ofGit = sourceOf(options);
  if (options.upload === true) {
    if (options.repo !== undefined || Object.keys(ofGit).length > 0) {
      throw usage("--upload stands for itself: it takes no --repo, --branch or --clone-url.");
    }
    return { kind: "upload" as const };
  }
  if (options.repo === undefined) throw usage("Say where the source is: --repo OWNER/REPO, or --upload.");
  return { kind: "git" as const, provider: "git_host" as const, ...parseRepository(options.repo), ...ofGit };
}

const defineReading: Define = (command, context) => {
  const list = command
    .command("list")
    .description("Projects of the organization.")
    .action(async () => {
      const api = await context.api();
      const projects = await everything((query) => api.call(listProjects, { query }));
      context.output.result(projects, () => projectTable(projects, context.now()));
    });
  const show = command
    .command("show")
    .description("One project with its settings.")
    .argument(...named)
    .action(async (name: string) => {
      const project = await findProject(await context.api(), name);
      context.output.result(project, () => projectText(project, context.now()));
    });
  examples(list, "project list", "project list --json");
  examples(show, "project show shop");
};

const defineUpdate: Define = (command, context) => {
  command
    .description("Change a project. Takes effect with the next deployment.")
    .argument(...named)
    .option("--name <name>", "another name; the slug stays")
    .option("--repo <owner/repo>", "another repository")
    .option("--rebuild-all", "build everything anew with the next deployment");
  buildOptions(command).action(
    async (
      wanted: string,
      options: ProjectOptions & { name?: string; repo?: string; rebuildAll?: boolean },
    ) => {
      if (Object.keys(options).length === 0)
        throw usage("Say what to change; see `slipway project update --help`.");
      const api = await context.api();
      const project = await findProject(api, wanted);
      const { data } = await api.call(updateProject, {
        params: { id: project.id },
        json: changes(project, options),
      });
      for (const warning of data.warnings ?? []) context.output.note(warning);
      context.output.result(data, () => `Changed ${data.slug}. It takes effect with the next deployment.`);
    },
  );
  examples(command, "project update shop --branch main --no-auto-deploy", "project update shop --port 3000");
};

/** Parts that the API takes whole are filled up with what the project has, so that one option changes one thing. */
function changes(
  project: Project,
  options: ProjectOptions & { name?: string; repo?: string; rebuildAll?: boolean },
) {
  const settings = settingsOf(options);
  const source = {
    ...(options.repo === undefined ? {} : parseRepository(options.repo)),
    ...sourceOf(options),
  };
  return {
    ...settings,
    ...(settings.build === undefined ? {} : { build: { ...project.build, ...settings.build } }),
    ...(settings.healthCheck === undefined
      ? {}
      : { healthCheck: { ...project.healthCheck, ...settings.healthCheck } }),
    ...(settings.resources === undefined
      ? {}
      : { resources: { ...project.resources, ...settings.resources } }),
    ...(Object.keys(source).length === 0 ? {} : { source: changedSource(project, source) }),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.rebuildAll === undefined ? {} : { rebuildAllNext: options.rebuildAll }),
  };
}

/** A project of uploads becomes one of git when it is given a repository. */
function changedSource({ source: before }: Project, change: Partial<GitPart>) {
  if (before.kind === "git") return { ...before, ...change };
  const { owner, repo } = change;
  if (owner === undefined || repo === undefined) {
    throw usage("This project is deployed from uploads; give it a repository with --repo first.");
  }
  return { kind: "git" as const, ...change, owner, repo };
}

interface DeleteOptions {
  volumes?: boolean;
  release?: boolean;
  yes?: boolean;
}

const defineDelete: Define = (command, context) => {
  command
    .description("Delete a project: its containers stop, its volumes stay.")
    .argument(...named)
    .option("--volumes", "delete its volumes and all that is in them, too")
    .option("--release", "leave everything running and served, and only forget it")
    .option("--yes", "do not ask")
    .action(async (name: string, options: DeleteOptions) => {
      if (options.volumes && options.release) {
        throw usage("--release leaves everything as it is; it takes no --volumes.");
      }
      const api = await context.api();
      const { id, slug } = await findProject(api, name);
      await context.ask.confirmOrYes(deleteQuestion(slug, options), options.yes);
      const query = { volumes: flag(options.volumes), release: flag(options.release) };
      const answer = await api.call(deleteProject, { params: { id }, query });
      const deleted = !("pending" in answer);
      const said = deleted
        ? `${options.release ? "Released" : "Deleted"} ${slug}.`
        : `${slug} is still being removed from its server; \`slipway project show ${slug}\` says when it is gone.`;
      context.output.result({ id, deleted }, () => said);
    });
  examples(
    command,
    "project delete shop --yes",
    "project delete shop --volumes",
    "project delete shop --release",
  );
};

function deleteQuestion(slug: string, { volumes, release }: DeleteOptions): string {
  if (release) return `Forget ${slug} and leave it running?`;
  return volumes
    ? `Delete ${slug}, stop it, and delete all data in its volumes?`
    : `Delete ${slug} and stop it?`;
}

const flag = (given: boolean | undefined) => (given ? ("1" as const) : ("0" as const));

const defineLink: Define = (command, context) => {
  const link = command
    .command("link")
    .description(
      "Make the webhook of a project, at the git host too where its git connection may. Its secret is shown once.",
    )
    .argument(...named)
    .option("--rotate", "make a new secret; the old one stops working")
    .action((name: string, options: { rotate?: boolean }) =>
      linkNamed(context, name, options.rotate ?? false),
    );
  const unlink = command
    .command("unlink")
    .description("Remove the webhook of a project. Pushes signed with its secret no longer count.")
    .argument(...named)
    .action(async (name: string) => {
      const api = await context.api();
      const { id, slug } = await findProject(api, name);
      const { reason } = await api.call(unlinkProject, { params: { id } });
      const result = { id, unlinked: true, ...(reason === undefined ? {} : { reason }) };
      context.output.result(result, () => [`Unlinked ${slug}.`, reason ?? ""].join(" ").trimEnd());
    });
  examples(link, "project link shop", "project link shop --rotate --json");
  examples(unlink, "project unlink shop");
};

async function linkNamed({ api: connect, output }: Context, name: string, rotate: boolean): Promise<void> {
  const api = await connect();
  const { id } = await findProject(api, name);
  const { data } = await api.call(linkProject, { params: { id }, query: { rotate: flag(rotate) } });
  output.result(data, () => {
    const secret = data.webhookSecret === undefined ? "unchanged, and not shown again" : data.webhookSecret;
    const state = data.registered ? "yes" : (data.reason ?? "no");
    return [`webhook URL  ${data.webhookUrl}`, `secret       ${secret}`, `registered   ${state}`].join("\n");
  });
}

async function placeOf(api: Api, { server, pool = false }: CreateOptions): Promise<{ serverId?: string }> {
  if (pool && server !== undefined) throw usage("Give --server or --pool, not both.");
  if (pool) return {};
  return { serverId: server === undefined ? await onlyServer(api) : (await findServer(api, server)).id };
}

async function onlyServer(api: Api): Promise<string> {
  const servers = await everything((query) => api.call(listServers, { query }), 2);
  const [server] = servers;
  if (server === undefined) {
    throw usage(
      "There is no server yet.",
      "Add one with `slipway server add`; in a cloud with a pool: --pool.",
    );
  }
  if (servers.length > 1) throw usage("There are several servers: say which with --server.");
  return server.id;
}
