/** Managed servers: reached over SSH with a host key that a person has confirmed. */
import { z } from "@hono/zod-openapi";
import { deleted, hostKey, hostname, id, idParameter, name, pageQuery, port, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

/** A host name or an address. */
const host = z.union([hostname, z.ipv4(), z.ipv6()]);

/** A POSIX account name. */
const user = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, "must be an account name");

const publicPorts = z.object({ http: port, https: port });

export const serverAuth = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("key"),
    privateKey: z.string().min(1).max(20_000),
    passphrase: z.string().max(1_000).optional(),
  }),
  z.strictObject({ kind: z.literal("password"), password: z.string().min(1).max(1_000) }),
  z.strictObject({ kind: z.literal("generated") }),
]);

export const serverCheck = z
  .object({
    ok: z.boolean(),
    error: z.string().optional(),
    code: z.string().optional(),
    os: z.string().nullable(),
    architecture: z.string().nullable(),
    engine: z.object({ name: z.string(), version: z.string() }).nullable(),
    proxy: z.object({ name: z.string(), version: z.string() }).nullable(),
    systemd: z.boolean(),
    sudo: z.boolean().openapi({ description: "Root, or sudo without a password" }),
    diskFreeMB: z.number().nullable(),
    diskTotalMB: z.number().nullable(),
    memoryTotalMB: z.number().nullable(),
    memoryAvailableMB: z.number().nullable(),
    clockSkewMs: z
      .number()
      .nullable()
      .openapi({ description: "Server time minus ours; half a round trip is taken off" }),
    ready: z
      .boolean()
      .openapi({ description: "Engine, git, curl and proxy are there: it can take deployments" }),
  })
  .openapi("ServerCheck");

export const server = z
  .object({
    id,
    name,
    host: z.string(),
    port,
    user: z.string(),
    auth: z.object({ kind: z.enum(["key", "password", "generated"]), publicKey: z.string().nullable() }),
    hostKey: z.object({ key: z.string(), fingerprint: z.string() }),
    publicPorts,
    bootstrappedAt: time.nullable(),
    createdAt: time,
  })
  .openapi("Server");

export const probeServer = route(
  { module: "platform", permission: "server:write" },
  {
    method: "post",
    path: "/api/servers/probe",
    summary: "The host key that an address presents; no credential is offered",
    request: { body: body(z.strictObject({ host, port: port.default(22) })) },
    responses: {
      200: json(
        "The key",
        data(z.object({ hostKey: z.string(), type: z.string(), fingerprint: z.string() })),
      ),
    },
  },
);

export const createServer = route(
  { module: "platform", permission: "server:write" },
  {
    method: "post",
    path: "/api/servers",
    summary: "Add a server",
    description:
      "`hostKey` is required: nothing is trusted that a person has not seen. Nothing is contacted yet.",
    request: {
      body: body(
        z.strictObject({
          name,
          host,
          port: port.default(22),
          user: user.default("root"),
          auth: serverAuth,
          hostKey,
          publicPorts: publicPorts.default({ http: 80, https: 443 }),
        }),
      ),
    },
    responses: { 201: json("The server", data(server)) },
  },
);

export const listServers = route(
  { module: "platform", permission: "server:list" },
  {
    method: "get",
    path: "/api/servers",
    summary: "Servers of the organization",
    request: { query: pageQuery },
    responses: { 200: json("Servers", page(server)) },
  },
);

export const getServer = route(
  { module: "platform", permission: "server:read" },
  {
    method: "get",
    path: "/api/servers/{id}",
    summary: "One server",
    request: { params: idParameter },
    responses: { 200: json("The server", data(server)) },
  },
);

export const updateServer = route(
  { module: "platform", permission: "server:write" },
  {
    method: "patch",
    path: "/api/servers/{id}",
    summary: "Change a server",
    description:
      "A change of host, port, user or host key needs `auth` again in the same request and server:admin: a kept secret is never sent to a new place.",
    request: {
      params: idParameter,
      body: body(
        z.strictObject({
          name: name.optional(),
          host: host.optional(),
          port: port.optional(),
          user: user.optional(),
          auth: serverAuth.optional(),
          hostKey: hostKey.optional(),
          publicPorts: publicPorts.optional(),
        }),
      ),
    },
    responses: { 200: json("The server", data(server)) },
  },
);

export const deleteServer = route(
  { module: "platform", permission: "server:admin" },
  {
    method: "delete",
    path: "/api/servers/{id}",
    summary: "Forget a server; 409 while projects are on it. Nothing on it is touched",
    request: { params: idParameter },
    responses: { 200: json("Forgotten", deleted) },
  },
);

export const checkServer = route(
  { module: "platform", permission: "server:write" },
  {
    method: "post",
    path: "/api/servers/{id}/check",
    summary: "Reach the server and say what is on it; a failure is the answer, not an error",
    request: { params: idParameter },
    responses: { 200: json("What was found", data(serverCheck)) },
  },
);

export const trustHostKey = route(
  { module: "platform", permission: "server:admin" },
  {
    method: "put",
    path: "/api/servers/{id}/host-key",
    summary: "Trust another host key from now on; needs the credential again, and is audited",
    description:
      "For a server that was set up anew. A kept credential is never sent to a server with another key. `generated` makes a new key, whose public half is in the answer.",
    request: { params: idParameter, body: body(z.strictObject({ hostKey, auth: serverAuth })) },
    responses: { 200: json("The server", data(server)) },
  },
);

const bytes = z.number().int().min(0);

export const serverDisk = z
  .object({
    totalBytes: bytes.openapi({ description: "Of the file system that holds the engine's data" }),
    freeBytes: bytes,
    imageBytes: bytes.nullable().openapi({ description: "Layers of all images, shared ones counted once" }),
    containerBytes: bytes.nullable().openapi({ description: "What containers have written beside volumes" }),
    volumeBytes: bytes.nullable(),
    buildCacheBytes: bytes.nullable(),
    projects: z
      .array(z.object({ projectId: id, name: z.string(), images: z.number().int(), imageBytes: bytes }))
      .openapi({
        description: "Kept images of projects, largest first; layers that other images share are left out",
      }),
  })
  .openapi("ServerDisk");

export const getServerDisk = route(
  { module: "platform", permission: "server:read" },
  {
    method: "get",
    path: "/api/servers/{id}/disk",
    summary: "What fills the server's disk, in bytes; asked now",
    description: "What the engine cannot say is null: the server has none yet, or one without `/system/df`.",
    request: { params: idParameter },
    responses: { 200: json("Bytes", data(serverDisk)) },
  },
);

export const bootstrapServer = route(
  { module: "platform", permission: "server:write", stream: true },
  {
    method: "post",
    path: "/api/servers/{id}/bootstrap",
    summary: "Install engine, git, proxy, restic and certificates; idempotent; streams its log",
    description:
      "Server-sent events: `status` { status }, `log` { seq, at, stream, phase, line }, `phase` { phase, state, ms } and last `complete` { status, error }. Called while one runs, it follows that one.",
    request: { params: idParameter },
    responses: {
      200: { description: "The stream", content: { "text/event-stream": { schema: z.string() } } },
    },
  },
);
