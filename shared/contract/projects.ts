/** Projects: what is built, where it runs, its environment, its hook and its domains. */
import { z } from "@hono/zod-openapi";
import { buildStrategies } from "../domain/deployment.ts";
import { limits } from "../domain/limits.ts";
import { projectKinds, projectLocations } from "../domain/project.ts";
import {
  branch,
  deleted,
  id,
  idParameter,
  name,
  pageQuery,
  port,
  relativePath,
  repositoryPart,
  time,
} from "./common.ts";
import { namedVolumes } from "./compose-forms.ts";
import { body, data, json, page, route } from "./route.ts";

/** http and https only; a credential in it is refused, since it would end up in logs. */
const cloneUrl = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine((value) => {
    const url = URL.parse(value);
    return url !== null && url.username === "" && url.password === "" && !/[\p{Cc} ]/u.test(value);
  }, "must be an http or https URL without user name or password");

const gitSource = z.strictObject({
  kind: z.literal("git"),
  provider: z.literal("git_host").default("git_host"),
  owner: repositoryPart,
  repo: repositoryPart,
  branch: branch.optional().openapi({ description: "Default: the default branch of the repository" }),
  cloneUrl: cloneUrl.optional(),
  connectionId: id.optional().openapi({
    description:
      "Git connection for a private repository; needs git_connection:read. cloneUrl must then lie below its baseUrl.",
  }),
});

const uploadSource = z
  .strictObject({ kind: z.literal("upload") })
  .openapi({ description: "A folder that is uploaded for each deployment" });

export const projectSource = z.discriminatedUnion("kind", [gitSource, uploadSource]);

/** Run by a shell inside the build or the container: code by design (see docs/security.md). */
export const command = z
  .string()
  .min(1)
  .max(2_000)
  .regex(/^[^\0\r\n]*$/, "must be one line");

const build = z.strictObject({
  installCommand: command.optional(),
  buildCommand: command.optional(),
  startCommand: command.optional(),
  outputDirectory: relativePath.optional(),
  port: port.optional(),
});

export const healthCheck = z.strictObject({
  path: z
    .string()
    .max(500)
    .regex(/^\/[\x21-\x7e]*$/, "must start with / and have no spaces")
    .optional(),
  port: port.optional(),
  timeoutSeconds: z.number().int().min(1).max(600).optional(),
});

export const resources = z.strictObject({
  cpus: z.number().min(0.05).max(256).optional(),
  memoryMB: z.number().int().min(16).max(1_048_576).optional(),
});

const slug = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/, "must be 1–40 lower-case letters, digits and inner dashes");

export const updateStrategy = z.enum(["rolling", "recreate"]).openapi({
  description:
    "Default: `recreate` (stop the old one, then start the new) where a volume can be written, else `rolling`",
});

const settings = {
  autoDeploy: z.boolean().optional(),
  rebuildAllNext: z.boolean().optional(),
  rootDirectory: relativePath.nullable().optional(),
  buildStrategy: z.enum(buildStrategies).optional(),
  build: build.optional(),
  healthCheck: healthCheck.optional(),
  updateStrategy: updateStrategy.nullable().optional(),
  resources: resources.optional(),
  volumes: namedVolumes.optional().openapi({
    description:
      "Of an app: `name:/path[:ro]`. Made with the first release that mounts them, kept by all later ones",
  }),
  rollbackWindow: z.number().int().min(0).max(limits.rollbackWindowMost).optional(),
};

export const project = z
  .object({
    id,
    name,
    slug: z.string(),
    kind: z.enum(projectKinds),
    serverId: id.nullable().openapi({
      description: "null: a server of the pool of whoever runs this cloud",
    }),
    source: projectSource,
    autoDeploy: z.boolean(),
    rebuildAllNext: z.boolean(),
    rootDirectory: z.string().nullable(),
    buildStrategy: z.enum(buildStrategies),
    build,
    healthCheck,
    updateStrategy: updateStrategy.nullable(),
    resources,
    volumes: z.array(z.string()),
    rollbackWindow: z.number(),
    linked: z.boolean().openapi({ description: "Whether it has a webhook secret of its own" }),
    hookRegistered: z.boolean().openapi({
      description: "Whether the platform itself has made the webhook at the git host, by the git connection",
    }),
    commitStatusProblem: z.string().nullable().openapi({
      description:
        "Why the git host takes no commit statuses of its deployments; null where it does, or none is sent",
    }),
    activeDeploymentId: id.nullable(),
    deleting: z.boolean().openapi({ description: "Its removal from the server is under way" }),
    urls: z.array(z.string()),
    location: z.enum(projectLocations).openapi({ description: "`cloud`: deployed by the linked cloud" }),
    cloudProjectId: id.nullable(),
    createdAt: time,
  })
  .openapi("Project");

export const newProject = z.strictObject({
  name,
  slug: slug.optional().openapi({ description: "Made from the name when absent" }),
  kind: z.enum(projectKinds).default("app").openapi({
    description: "`compose` and `monorepo` are made of services; they cannot be deployed yet",
  }),
  serverId: id.optional().openapi({
    description:
      "A server of the organization. Absent, in a cloud whose operator has a pool: there, with fixed limits; 409 `pool_not_ready` where it has no room",
  }),
  source: projectSource,
  ...settings,
});

export const createProject = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/projects",
    summary: "Create a project; nothing is deployed yet",
    description:
      "Where its source names a git connection with a token, the webhook is registered at the git host at once; `hookRegistered` says whether that went, and `POST /api/projects/{id}/link` why not.",
    request: { body: body(newProject) },
    responses: { 201: json("The project", data(project)) },
  },
);

export const listProjects = route(
  { module: "platform", permission: "project:list" },
  {
    method: "get",
    path: "/api/projects",
    summary: "Projects of the organization",
    request: { query: pageQuery },
    responses: { 200: json("Projects", page(project)) },
  },
);

export const getProject = route(
  { module: "platform", permission: "project:read" },
  {
    method: "get",
    path: "/api/projects/{id}",
    summary: "One project",
    request: { params: idParameter },
    responses: { 200: json("The project", data(project)) },
  },
);

export const updateProject = route(
  { module: "platform", permission: "project:write" },
  {
    method: "patch",
    path: "/api/projects/{id}",
    summary: "Change a project; takes effect with the next deployment",
    description:
      "With a source of another repository, a webhook that the platform has registered is removed at the git host, and one registered at the new place. One that a person has added counts no more: its secret is forgotten, and `link` makes another. `warnings` says so, and what is left to do at the git host.",
    request: {
      params: idParameter,
      body: body(z.strictObject({ name: name.optional(), source: projectSource.optional(), ...settings })),
    },
    responses: {
      200: json(
        "The project",
        data(project.extend({ warnings: z.array(z.string()).optional() }).openapi("ChangedProject")),
      ),
    },
  },
);

const flag = z.enum(["0", "1"]).default("0");

export const deleteProject = route(
  { module: "platform", permission: "project:admin" },
  {
    method: "delete",
    path: "/api/projects/{id}",
    summary: "Delete a project: its containers stop, volumes stay",
    description:
      "`volumes=1` deletes its volumes too. `release=1` leaves everything running, asks the server for nothing and only forgets the project; the proxy goes on serving it. Otherwise the project is there until the server has proven that nothing of it is left: a server that cannot be reached is 502, the project stays as it was, and `release=1` is the way out. Asked again while it is under way, it waits for the same removal. On a pool nothing is left running: 409 with `release=1`.",
    request: { params: idParameter, query: z.object({ volumes: flag, release: flag }) },
    responses: {
      200: json("Deleted", deleted),
      202: json("Its removal goes on", z.object({ success: z.literal(true), pending: z.literal(true) })),
    },
  },
);

export const linkProject = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/projects/{id}/link",
    summary: "Make the project's webhook; its secret is in the answer that made it only",
    description:
      "Registers it at the git host through the project's git connection (kind token), or brings the one that is there up to date. Where that does not go, `registered` is false, `reason` says what to do, and the webhook can be added by hand. Again: the same hook, no secret. `rotate=1`: a new secret, here and at the git host.",
    request: { params: idParameter, query: z.object({ rotate: z.enum(["0", "1"]).default("0") }) },
    responses: {
      200: json(
        "The hook",
        data(
          z.object({
            webhookUrl: z.string(),
            webhookSecret: z.string().optional(),
            registered: z.boolean(),
            reason: z.string().optional(),
          }),
        ),
      ),
    },
  },
);

export const unlinkProject = route(
  { module: "platform", permission: "project:write" },
  {
    method: "delete",
    path: "/api/projects/{id}/link",
    summary: "Remove the project's webhook and its secret; deliveries signed with it no longer count",
    description:
      "A webhook that the platform has registered is removed at the git host as well; `reason` says why one is still there.",
    request: { params: idParameter },
    responses: { 200: json("Removed", deleted.extend({ reason: z.string().optional() })) },
  },
);
