/** Connections to git hosts: the credential with which private repositories are read. It goes in and never comes out. */
import { z } from "@hono/zod-openapi";
import { gitConnectionKinds } from "../domain/git-connection.ts";
import { deleted, hostKey, id, idParameter, name, pageQuery, repositoryPart, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

/** A credential, query or fragment in it is refused; so is every letter that a configuration of git could read otherwise. */
const baseUrl = z
  .string()
  .max(500)
  .regex(
    /^(https?:\/\/|ssh:\/\/[A-Za-z_][A-Za-z0-9._-]{0,31}@)(?![-.])([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(\/[A-Za-z0-9_][A-Za-z0-9._~-]*)*\/?$/,
    "must be an http or https URL without user name and password, or ssh://user@host",
  )
  .refine((value) => URL.canParse(value), "must be a URL")
  .openapi({
    description:
      "An https (or http) address for a token, `ssh://git@git.example.com` for a deploy key. Repositories lie below it as `/<owner>/<repo>.git`; the secret is sent nowhere else.",
  });

const secret = z
  .string()
  .min(8)
  .max(20_000)
  .openapi({ description: "The token, or the private half of the deploy key without a passphrase" });

const gitConnection = z
  .object({
    id,
    name,
    provider: z.literal("git_host"),
    baseUrl: z.string(),
    kind: z.enum(gitConnectionKinds),
    secret: z.object({
      set: z.literal(true),
      last4: z
        .string()
        .openapi({ description: "Last characters of the token, or of the SHA-256 fingerprint of the key" }),
    }),
    hostKey: z.string().nullable(),
    createdAt: time,
  })
  .openapi("GitConnection");

export const createGitConnection = route(
  { module: "platform", permission: "git_connection:write" },
  {
    method: "post",
    path: "/api/git-connections",
    summary: "Add a connection to a git host; nothing is contacted yet",
    description: "`hostKey` is required for a deploy key, and for nothing else.",
    request: {
      body: body(
        z.strictObject({
          name,
          provider: z.literal("git_host").default("git_host"),
          baseUrl,
          kind: z.enum(gitConnectionKinds),
          secret,
          hostKey: hostKey.optional(),
        }),
      ),
    },
    responses: { 201: json("The connection", data(gitConnection)) },
  },
);

export const listGitConnections = route(
  { module: "platform", permission: "git_connection:read" },
  {
    method: "get",
    path: "/api/git-connections",
    summary: "Git connections of the organization",
    request: { query: pageQuery },
    responses: { 200: json("Connections", page(gitConnection)) },
  },
);

export const getGitConnection = route(
  { module: "platform", permission: "git_connection:read" },
  {
    method: "get",
    path: "/api/git-connections/{id}",
    summary: "One git connection",
    request: { params: idParameter },
    responses: { 200: json("The connection", data(gitConnection)) },
  },
);

export const updateGitConnection = route(
  { module: "platform", permission: "git_connection:write" },
  {
    method: "patch",
    path: "/api/git-connections/{id}",
    summary: "Change a git connection; its kind stays",
    description:
      "A change of baseUrl or hostKey needs `secret` again in the same request and git_connection:admin: a kept secret is never sent to a new place. With a new baseUrl, webhooks that the platform has registered move to the new address and get new secrets; `warnings` says which could not be moved, and what to do. With another secret alone they stay.",
    request: {
      params: idParameter,
      body: body(
        z.strictObject({
          name: name.optional(),
          baseUrl: baseUrl.optional(),
          secret: secret.optional(),
          hostKey: hostKey.optional(),
        }),
      ),
    },
    responses: {
      200: json(
        "The connection",
        data(
          gitConnection.extend({ warnings: z.array(z.string()).optional() }).openapi("ChangedGitConnection"),
        ),
      ),
    },
  },
);

export const deleteGitConnection = route(
  { module: "platform", permission: "git_connection:admin" },
  {
    method: "delete",
    path: "/api/git-connections/{id}",
    summary: "Forget a git connection and its secret; 409 while projects use it",
    request: { params: idParameter },
    responses: { 200: json("Forgotten", deleted) },
  },
);

export const checkGitConnection = route(
  { module: "platform", permission: "git_connection:write" },
  {
    method: "post",
    path: "/api/git-connections/{id}/check",
    summary: "Ask the git host; a failure is the answer, not an error",
    description:
      "Asked from the platform, not from a server. Token: reads the list of branches of the repository `owner`/`repo`, or else of the newest project that uses the connection; without either, only whether the address answers, since a git host tells nothing of a token without a repository. Deploy key: whether the host presents the confirmed key and takes the deploy key; no repository is read. `checked` says which it was.",
    request: {
      params: idParameter,
      query: z.object({ owner: repositoryPart.optional(), repo: repositoryPart.optional() }),
    },
    responses: {
      200: json(
        "What was found",
        data(
          z.object({
            ok: z.boolean(),
            error: z.string().optional(),
            code: z.string().optional(),
            checked: z.enum(["repository", "address", "deploy_key"]),
            repository: z.string().nullable().openapi({ description: "`owner/repo` that was asked for" }),
          }),
        ),
      ),
    },
  },
);
