import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readDisk } from "../../../functions/platform/server-disk.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import {
  addProject,
  addServer,
  hostKey,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

let platform: TestPlatform;
let acme: Organization;
let id: string;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  id = await addServer(acme.call);
});

const image = (projectId: string | null, size: number, shared: number) => ({
  Size: size,
  SharedSize: shared,
  Labels: projectId === null ? null : { "slipway.project": projectId },
});

const said = (images: unknown[]) =>
  `1000 400\n${JSON.stringify({
    LayersSize: 300,
    Images: images,
    Containers: [{ SizeRw: 7 }, {}],
    Volumes: [{ UsageData: { Size: 50 } }, { UsageData: { Size: -1 } }, { UsageData: null }],
    BuildCache: [
      { Size: 20, Shared: false },
      { Size: 99, Shared: true },
    ],
  })}\n`;

describe("the disk of a server", () => {
  const disk = (call = acme.call) => call("GET", `/api/servers/${id}/disk`);

  it("is told in bytes, with what the images of each project take alone", async () => {
    const shop = await addProject(acme.call, id);
    const blog = await addProject(acme.call, id, { name: "Blog" });
    const images = [image(blog, 100, 90), image(shop, 100, 60), image(shop, 70, 60), image(null, 30, 0)];
    platform.shell.answer({ stdout: said([...images, image("prj_of_others", 500, 0)]) });
    const { status, body } = await disk();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      totalBytes: 1000,
      freeBytes: 400,
      imageBytes: 300,
      containerBytes: 7,
      volumeBytes: 50,
      buildCacheBytes: 20,
      projects: [
        { projectId: shop, name: "Shop", images: 2, imageBytes: 50 },
        { projectId: blog, name: "Blog", images: 1, imageBytes: 10 },
      ],
    });
    const narrowed = await acme.with({ projectIds: [blog] });
    expect((await disk(narrowed)).body.data.projects).toMatchObject([{ projectId: blog }]);
  });

  it("says null for what no engine tells, and 502 with the reason when nothing can be asked", async () => {
    platform.shell.answer({ stdout: "1000 400\n" });
    expect((await disk()).body.data).toMatchObject({ freeBytes: 400, imageBytes: null, projects: [] });
    platform.shell.answer({ stdout: "what?\n" });
    expect(await disk()).toMatchObject({ status: 502, body: { code: "unexpected_answer" } });
    platform.shell.answer(new ShellFailure("unreachable", "The server does not answer."));
    expect(await disk()).toMatchObject({ status: 502, body: { code: "unreachable" } });
  });

  it("survives an engine that answers something else", () => {
    for (const answer of ["null", "[]", "{", '{"Images":"many"}', '{"Images":[{"Labels":{"a":1}}]}']) {
      expect(readDisk(`1000 400\n${answer}`)).toMatchObject({ totalBytes: 1000 });
    }
  });
});

describe("trusting another host key", () => {
  it("needs server:admin and the credential, drops old connections and is audited", async () => {
    const path = `/api/servers/${id}/host-key`;
    const auth = { kind: "password", password: "hunter23" };
    const wanted = { hostKey: hostKey(), auth };
    const member = await acme.with({ role: "member" });
    expect((await member("PUT", path, wanted)).status).toBe(403);
    const without = await acme.call("PUT", path, { hostKey: wanted.hostKey });
    expect([without.status, without.body.details[0].path]).toEqual([400, "body.auth"]);
    const mislabelled = hostKey("ssh-rsa").replace("ssh-rsa", "ssh-ed25519");
    expect((await acme.call("PUT", path, { ...wanted, hostKey: mislabelled })).status).toBe(400);

    const { status, body } = await acme.call("PUT", path, wanted);
    expect([status, body.data.hostKey.key]).toEqual([200, wanted.hostKey]);
    expect(JSON.stringify(body)).not.toContain("hunter23");
    expect(platform.shell.forgotten).toContain(id);
    const audit = await acme.call("GET", "/api/audit");
    expect(audit.body.data[0]).toMatchObject({
      action: "server.host_key_trusted",
      resource: { kind: "server", id },
      fields: ["hostKey", "auth"],
    });
    const other = await platform.organization();
    expect((await other.call("PUT", path, wanted)).status).toBe(404);
  });
});
