/** Members of the active organization and the invitations that make new ones. */
import { z } from "@hono/zod-openapi";
import { roles } from "../domain/permission.ts";
import { deleted, email, id, idParameter, pageQuery, time } from "./common.ts";
import { body, data, json, page, route } from "./route.ts";

const role = z.enum(roles);

export const member = z
  .object({
    userId: id,
    email: z.string(),
    name: z.string(),
    role,
    primaryOwner: z.boolean(),
    createdAt: time,
  })
  .openapi("Member");

const invitation = z
  .object({ id, email: z.string(), role, invitedBy: id, expiresAt: time, createdAt: time })
  .openapi("Invitation");

const userParameter = z.object({ userId: id.openapi({ param: { name: "userId", in: "path" } }) });

export const listMembers = route(
  { module: "platform", permission: "organization:read" },
  {
    method: "get",
    path: "/api/members",
    summary: "Members of the organization",
    request: { query: pageQuery },
    responses: { 200: json("Members", page(member)) },
  },
);

export const inviteMember = route(
  { module: "platform", permission: "organization:admin", limit: "tries" },
  {
    method: "post",
    path: "/api/members",
    summary: "Invite somebody: makes a one-time link that holds for 7 days, in this answer only",
    request: { body: body(z.strictObject({ email, role })) },
    responses: { 201: json("The invitation and its link", data(invitation.extend({ url: z.string() }))) },
  },
);

export const updateMember = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "patch",
    path: "/api/members/{userId}",
    summary: "Change the role of a member; it counts at once. Only an owner grants or takes `owner`",
    request: { params: userParameter, body: body(z.strictObject({ role })) },
    responses: { 200: json("The member", data(member)) },
  },
);

export const removeMember = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "delete",
    path: "/api/members/{userId}",
    summary: "Remove a member; sessions and tokens stop working here at once",
    request: { params: userParameter },
    responses: { 200: json("Removed", deleted) },
  },
);

export const listInvitations = route(
  { module: "platform", permission: "organization:read" },
  {
    method: "get",
    path: "/api/members/invitations",
    summary: "Invitations that can still be accepted",
    request: { query: pageQuery },
    responses: { 200: json("Invitations", page(invitation)) },
  },
);

export const revokeInvitation = route(
  { module: "platform", permission: "organization:admin" },
  {
    method: "delete",
    path: "/api/members/invitations/{id}",
    summary: "Take an invitation back; its link stops working at once",
    request: { params: idParameter },
    responses: { 200: json("Taken back", deleted) },
  },
);
