/** The routes of organizations, members and invitations. */
import * as members from "../../shared/contract/members.ts";
import * as organizations from "../../shared/contract/organizations.ts";
import type { ModuleApp } from "../../shared/http/module-app.ts";
import { inviteMember, listInvitations, revokeInvitation } from "./invitations.ts";
import { changeRole, listMembers, removeMember } from "./members.ts";
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
  transferOrganization,
} from "./organizations.ts";
import type { PlatformParts } from "./parts.ts";

export function addMemberRoutes(app: ModuleApp, parts: PlatformParts): void {
  const { db } = parts;
  const success = { success: true as const };

  app.openapi(organizations.listOrganizations, async (c) =>
    c.json(await listOrganizations(db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(organizations.createOrganization, async (c) => {
    const made = await createOrganization(db, c.get("principal"), c.req.valid("json").name);
    return c.json({ data: made }, 201);
  });
  app.openapi(organizations.getOrganization, async (c) =>
    c.json({ data: await getOrganization(db, c.get("principal"), c.req.valid("param").id) }, 200),
  );
  app.openapi(organizations.updateOrganization, async (c) => {
    const { id } = c.req.valid("param");
    const { name } = c.req.valid("json");
    return c.json({ data: await renameOrganization(db, c.get("principal"), id, name) }, 200);
  });
  app.openapi(organizations.transferOrganization, async (c) => {
    const { id } = c.req.valid("param");
    const { userId } = c.req.valid("json");
    return c.json({ data: await transferOrganization(db, c.get("principal"), id, userId) }, 200);
  });

  app.openapi(members.listMembers, async (c) =>
    c.json(await listMembers(db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(members.inviteMember, async (c) =>
    c.json({ data: await inviteMember(parts, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(members.listInvitations, async (c) =>
    c.json(await listInvitations(db, c.get("principal"), c.req.valid("query")), 200),
  );
  app.openapi(members.revokeInvitation, async (c) => {
    await revokeInvitation(db, c.get("principal"), c.req.valid("param").id);
    return c.json(success, 200);
  });
  app.openapi(members.updateMember, async (c) => {
    const { userId } = c.req.valid("param");
    return c.json({ data: await changeRole(db, c.get("principal"), userId, c.req.valid("json").role) }, 200);
  });
  app.openapi(members.removeMember, async (c) => {
    await removeMember(db, c.get("principal"), c.req.valid("param").userId);
    return c.json(success, 200);
  });
}
