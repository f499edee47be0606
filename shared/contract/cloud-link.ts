/** The account in the cloud that an organization of a self-hosted instance has linked. The token goes in and never comes out. */
import { z } from "@hono/zod-openapi";
import { deleted, id, time } from "./common.ts";
import { body, data, json, route } from "./route.ts";

/** An origin: what is asked lies below it, and the token is sent nowhere else. */
const url = z
  .string()
  .max(500)
  .refine(
    (value) => URL.canParse(value) && /^https?:\/\/[^/?#@\\\s\p{Cc}]+\/?$/iu.test(value),
    "must be an http or https address without user name, path or query",
  )
  .openapi({ description: "Address of the cloud: scheme, host and port, and nothing behind them" });

const token = z
  .string()
  .regex(/^slp_[A-Za-z0-9]{20,100}$/, "must be an access token of the cloud (`slp_…`)")
  .openapi({
    description:
      "An access token of the organization in the cloud with project:write, deployment:admin and organization:read. Needed again when `url` changes; without it the stored one is checked again.",
  });

const cloudLink = z
  .object({
    url: z.string(),
    token: z.object({ set: z.literal(true), last4: z.string() }),
    organization: z
      .object({ id, name: z.string() })
      .openapi({ description: "Whose account it is in the cloud" }),
    createdAt: time,
    updatedAt: time,
  })
  .openapi("CloudLink");

const ownersOnly = "Owners only. Not on a cloud instance.";

export const getCloudLink = route(
  { module: "platform", permission: "organization:admin", modes: ["self-hosted"] },
  {
    method: "get",
    path: "/api/cloud-link",
    summary: "The linked account in the cloud, or null",
    description: ownersOnly,
    responses: { 200: json("The link", data(cloudLink.nullable())) },
  },
);

export const putCloudLink = route(
  { module: "platform", permission: "organization:admin", modes: ["self-hosted"] },
  {
    method: "put",
    path: "/api/cloud-link",
    summary: "Link the organization to its account in the cloud",
    description: `${ownersOnly} The cloud is asked first: nothing is stored when it does not answer (502), is no Slipway, or does not take the token (400); \`details\` names the field.`,
    request: { body: body(z.strictObject({ url, token: token.optional() })) },
    responses: { 200: json("The link", data(cloudLink)) },
  },
);

export const deleteCloudLink = route(
  { module: "platform", permission: "organization:admin", modes: ["self-hosted"] },
  {
    method: "delete",
    path: "/api/cloud-link",
    summary: "Forget the link and its token",
    description: `${ownersOnly} Promoted projects stay in the cloud and cannot be reached from here until it is linked again.`,
    responses: { 200: json("Forgotten", deleted) },
  },
);
