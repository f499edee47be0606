/** Services: the parts of a project of kind compose or monorepo, each with a container of its own. */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { deleted, id, idParameter, pageQuery, relativePath, time } from "./common.ts";
import { servicePorts, serviceVolumes, watchPaths } from "./compose-forms.ts";
import { envKey, envValue } from "./project-env.ts";
import { command, healthCheck, resources, updateStrategy } from "./projects.ts";
import { body, data, json, page, route } from "./route.ts";

const serviceName = z
  .string()
  .max(63)
  .regex(
    /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
    "must be letters, digits, dots, dashes and underscores, with a letter or digit at both ends",
  )
  .openapi({ description: "Unique in the project; letters compare without case" });

/** A reference as engines take it; never an option. */
const image = z
  .string()
  .max(500)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
    "must be an image such as `redis:7` or `registry.example.com/team/app:1`",
  );

const serviceBuild = z.strictObject({
  context: relativePath.default(".").openapi({ description: "Relative to rootDirectory of the project" }),
  dockerfile: relativePath.optional().openapi({ description: "Relative to the context" }),
});

const dependsOn = z
  .array(serviceName)
  .max(limits.servicesMost)
  .refine(
    (names) => new Set(names.map((one) => one.toLowerCase())).size === names.length,
    "names a service twice",
  )
  .openapi({ description: "Names of services that start first; no cycles" });

const fields = {
  ports: servicePorts,
  dependsOn,
  volumes: serviceVolumes,
  command: command.nullable(),
  healthCheck,
  watchPaths,
  updateStrategy: updateStrategy.nullable(),
  resources,
};

/** Every field may be left out. */
const settings = z.strictObject(fields).partial().shape;

const service = z
  .object({
    id,
    projectId: id,
    name: z.string(),
    image: z.string().nullable(),
    build: z.object({ context: z.string(), dockerfile: z.string().optional() }).nullable(),
    ...fields,
    environment: z
      .array(z.object({ key: z.string(), fingerprint: z.string() }))
      .openapi({ description: "Keys and fingerprints; values are never returned" }),
    createdAt: time,
  })
  .openapi("Service");

const onlyWithServices =
  "Of projects of kind `compose` and `monorepo`; 409 for an `app`, which is one container and has no services.";

export const listServices = route(
  { module: "platform", permission: "project:read" },
  {
    method: "get",
    path: "/api/projects/{id}/services",
    summary: "Services of a project",
    description: onlyWithServices,
    request: { params: idParameter, query: pageQuery },
    responses: { 200: json("Services", page(service)) },
  },
);

export const newService = z.strictObject({
  name: serviceName,
  image: image.optional(),
  build: serviceBuild.optional(),
  environment: z.record(envKey, envValue).optional(),
  ...settings,
});

export const createService = route(
  { module: "platform", permission: "project:write" },
  {
    method: "post",
    path: "/api/projects/{id}/services",
    summary: "Add a service; takes effect with the next deployment",
    description: `${onlyWithServices} Exactly one of \`image\` and \`build\`.`,
    request: {
      params: idParameter,
      body: body(newService),
    },
    responses: { 201: json("The service", data(service)) },
  },
);

const serviceParameters = idParameter.extend({
  serviceId: id.openapi({ param: { name: "serviceId", in: "path" } }),
});

export const updateService = route(
  { module: "platform", permission: "project:write" },
  {
    method: "patch",
    path: "/api/projects/{id}/services/{serviceId}",
    summary: "Change a service; takes effect with the next deployment",
    description:
      "`image` takes the place of `build`, and the other way round. `environment` writes the keys that it names and removes those that are null; others stay. With another `name` the services that depend on it follow.",
    request: {
      params: serviceParameters,
      body: body(
        z.strictObject({
          name: serviceName.optional(),
          image: image.optional(),
          build: serviceBuild.optional(),
          environment: z.record(envKey, envValue.nullable()).optional(),
          ...settings,
        }),
      ),
    },
    responses: { 200: json("The service", data(service)) },
  },
);

export const deleteService = route(
  { module: "platform", permission: "project:write" },
  {
    method: "delete",
    path: "/api/projects/{id}/services/{serviceId}",
    summary: "Remove a service; 409 while others depend on it",
    request: { params: serviceParameters },
    responses: { 200: json("Removed", deleted) },
  },
);
