/**
 * People: setting up the instance, signing in and out, passwords, accepting an invitation. Success sets the cookie of
 * a session; access tokens have nothing to do here.
 */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { permissionTags, roles } from "../domain/permission.ts";
import { email, id, name, password } from "./common.ts";
import { body, data, json, route } from "./route.ts";

const session = z
  .object({
    user: z.object({ id, email: z.string(), name: z.string() }),
    organization: z
      .object({ id, name: z.string(), role: z.enum(roles) })
      .openapi({ description: "The active one: that of X-Organization-Id, else the oldest membership." }),
    organizations: z.array(z.object({ id, name: z.string(), role: z.enum(roles) })),
    permissions: z.array(z.enum(permissionTags)),
  })
  .openapi("Session");

/** What somebody types to be compared: anything, within a bound. */
const typed = z.string().min(1).max(limits.passwordMost);
const public_ = { module: "platform", permission: "public", limit: "tries" } as const;

export const getSetUp = route(
  { module: "platform", permission: "public" },
  {
    method: "get",
    path: "/api/auth/setup",
    summary: "Whether this instance waits for its first organization",
    responses: { 200: json("Whether it is needed", data(z.object({ needed: z.boolean() }))) },
  },
);

export const setUp = route(public_, {
  method: "post",
  path: "/api/auth/setup",
  summary: "Make the first organization and its owner, with the one-time code that the platform printed",
  request: { body: body(z.strictObject({ code: typed, organization: name, name, email, password })) },
  responses: {
    201: json(
      "The session, and a first access token that is shown this once",
      data(session.extend({ token: z.string() })),
    ),
  },
});

export const signIn = route(public_, {
  method: "post",
  path: "/api/auth/sign-in",
  summary: "Sign in with e-mail and password",
  request: { body: body(z.strictObject({ email, password: typed })) },
  responses: { 200: json("The session", data(session)) },
});

export const acceptInvitation = route(public_, {
  method: "post",
  path: "/api/auth/accept-invitation",
  summary: "Become a member by a one-time link; with an account already, the password is that account's",
  request: { body: body(z.strictObject({ token: typed, name, password: typed })) },
  responses: { 200: json("The session", data(session)) },
});

export const getSession = route(
  { module: "platform", permission: "session" },
  {
    method: "get",
    path: "/api/auth/session",
    summary: "Who is signed in, in which organization, and what that person may do",
    responses: { 200: json("The session", data(session)) },
  },
);

export const signOut = route(
  { module: "platform", permission: "session" },
  {
    method: "post",
    path: "/api/auth/sign-out",
    summary: "End this session",
    responses: { 200: json("Signed out", z.object({ success: z.literal(true) })) },
  },
);

export const changePassword = route(
  { module: "platform", permission: "session", limit: "tries" },
  {
    method: "post",
    path: "/api/auth/password",
    summary:
      "Change the password; every session of the account ends, and this one goes on under a new cookie",
    request: { body: body(z.strictObject({ currentPassword: typed, newPassword: password })) },
    responses: { 200: json("The session", data(session)) },
  },
);
