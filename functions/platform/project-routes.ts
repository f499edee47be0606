/** The routes of projects: their settings, environment, hook and host names. */
import * as domains from "../../shared/contract/domains.ts";
import * as projectEnv from "../../shared/contract/project-env.ts";
import * as contract from "../../shared/contract/projects.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { ModuleApp } from "../../shared/http/module-app.ts";
import { createProject } from "./create-project.ts";
import { type DeleteParts, deleteProject } from "./delete-project.ts";
import { attachDomain, detachDomain, listDomains } from "./domains.ts";
import { linkProject, unlinkProject } from "./hooks/link.ts";
import { listProjects } from "./list-projects.ts";
import { changeEnv, readEnv } from "./project-env.ts";
import { showProject } from "./project-row.ts";
import { updateProject } from "./update-project.ts";

export function addProjectRoutes(app: ModuleApp, parts: DeleteParts): void {
  const { db, baseDomain } = parts;
  const success = { success: true as const };

  app.openapi(contract.createProject, async (c) =>
    c.json({ data: await createProject(parts, c.get("principal"), c.req.valid("json")) }, 201),
  );
  app.openapi(contract.listProjects, async (c) =>
    c.json(await listProjects(db, c.get("principal"), c.req.valid("query"), baseDomain), 200),
  );
  app.openapi(contract.getProject, async (c) => {
    const row = await load(db, c.get("principal"), "project", c.req.valid("param").id);
    return c.json({ data: await showProject(db, row, baseDomain) }, 200);
  });
  app.openapi(contract.updateProject, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await updateProject(parts, c.get("principal"), id, c.req.valid("json")) }, 200);
  });
  app.openapi(contract.deleteProject, async (c) => {
    const { release, volumes } = c.req.valid("query");
    const how = { release: release === "1", volumes: volumes === "1" };
    const { id } = c.req.valid("param");
    const over = await deleteProject(parts, c.get("principal"), id, how, c.req.raw.signal);
    return over ? c.json(success, 200) : c.json({ ...success, pending: true as const }, 202);
  });

  app.openapi(projectEnv.getEnv, async (c) =>
    c.json({ data: await readEnv(db, c.get("principal"), c.req.valid("param").id) }, 200),
  );
  app.openapi(projectEnv.putEnv, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await changeEnv(parts, c.get("principal"), id, c.req.valid("json")) }, 200);
  });

  app.openapi(contract.linkProject, async (c) => {
    const rotate = c.req.valid("query").rotate === "1";
    return c.json(
      { data: await linkProject(parts, c.get("principal"), c.req.valid("param").id, rotate) },
      200,
    );
  });
  app.openapi(contract.unlinkProject, async (c) => {
    const left = await unlinkProject(parts, c.get("principal"), c.req.valid("param").id);
    return c.json({ ...success, ...left }, 200);
  });

  app.openapi(domains.listDomains, async (c) => {
    const { id } = c.req.valid("param");
    return c.json(await listDomains(db, c.get("principal"), id, c.req.valid("query")), 200);
  });
  app.openapi(domains.createDomain, async (c) => {
    const { id } = c.req.valid("param");
    return c.json({ data: await attachDomain(parts, c.get("principal"), id, c.req.valid("json")) }, 201);
  });
  app.openapi(domains.deleteDomain, async (c) => {
    const { id, domainId } = c.req.valid("param");
    await detachDomain(parts, c.get("principal"), id, domainId);
    return c.json(success, 200);
  });
}
