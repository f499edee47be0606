/** Organizations, tokens and the audit. */
import { z } from "@hono/zod-openapi";
import { permissionTags, roles } from "../domain/permission.ts";
import { deleted, id, idParameter, name, pageQuery, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const organization = z
  .object({
    id,
    name,
    role: z.enum(roles).openapi({ description: "Of the caller." }),
    primaryOwnerId: id.openapi({ description: "Pushes are attributed to this owner." }),
    createdAt: time,
  })
  .openapi("Organization");

const token = z
  .object({
    id,
    name,
    permissions: z
      .array(z.enum(permissionTags))
      .nullable()
      .openapi({ description: "null: all that its maker may do" }),
    projectIds: z.array(id).nullable(),
    serverIds: z.array(id).nullable(),
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable(),
    createdAt: time,
  })
  .openapi("Token");

const auditEntry = z
  .object({
    id,
    action: z.string(),
    resource: z.object({ kind: z.string(), id }),
    fields: z.array(z.string()),
    userId: id.nullable(),
    credentialId: id.nullable(),
    sourceIp: z.string().nullable(),
    createdAt: time,
  })
  .openapi("AuditEntry");

export const listOrganizations = route(
  { module: "platform", permission: "organization:read" },
  {
    method: "get",
    path: "/api/organizations",
    summary: "The organizations of the caller: all of a person who is signed in, the one of a token",
    request: { query: pageQuery },
    responses: { 200: json("Organizations", page(organization)) },
  },
);

export const createOrganization = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "post",
    path: "/api/organizations",
    summary: "Make another organization; the caller becomes its owner",
    request: { body: body(z.strictObject({ name })) },
    responses: { 201: json("The organization", data(organization)) },
  },
);

export const getOrganization = route(
  { module: "platform", permission: "organization:read" },
  {
    method: "get",
    path: "/api/organizations/{id}",
    summary: "The active organization",
    request: { params: idParameter },
    responses: { 200: json("The organization", data(organization)) },
  },
);

export const updateOrganization = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "patch",
    path: "/api/organizations/{id}",
    summary: "Rename the active organization",
    request: { params: idParameter, body: body(z.strictObject({ name: name.optional() })) },
    responses: { 200: json("The organization", data(organization)) },
  },
);

export const transferOrganization = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "post",
    path: "/api/organizations/{id}/transfer",
    summary: "Make another owner the primary one; only an owner may",
    request: { params: idParameter, body: body(z.strictObject({ userId: id })) },
    responses: { 200: json("The organization", data(organization)) },
  },
);

export const listTokens = route(
  { module: "platform", permission: "token:read" },
  {
    method: "get",
    path: "/api/tokens",
    summary: "Access tokens of the organization, without their secrets",
    request: { query: pageQuery },
    responses: { 200: json("Tokens", page(token)) },
  },
);

export const createToken = route(
  { module: "platform", permission: "token:write" },
  {
    method: "post",
    path: "/api/tokens",
    summary: "Make an access token; its secret is in this answer only",
    request: {
      body: body(
        z.strictObject({
          name,
          permissions: z.array(z.enum(permissionTags)).min(1).max(permissionTags.length).optional(),
          projectIds: z.array(id).min(1).max(200).optional(),
          serverIds: z.array(id).min(1).max(200).optional(),
          expiresInDays: z.number().int().min(1).max(3650).optional(),
        }),
      ),
    },
    responses: { 201: json("The token and its secret", data(token.extend({ token: z.string() }))) },
  },
);

export const deleteToken = route(
  { module: "platform", permission: "token:write" },
  {
    method: "delete",
    path: "/api/tokens/{id}",
    summary: "Revoke a token; it stops working at once",
    request: { params: idParameter },
    responses: { 200: json("Revoked", deleted) },
  },
);

export const listAudit = route(
  { module: "platform", permission: "audit:read" },
  {
    method: "get",
    path: "/api/audit",
    summary: "Who changed what, newest first",
    request: { query: pageQuery },
    responses: { 200: json("Audit entries", page(auditEntry)) },
  },
);
