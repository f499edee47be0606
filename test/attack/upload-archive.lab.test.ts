/**
 * Uploaded archives on a real server: what a stranger's tar may carry, and what of it is there once it was unpacked, built and runs.
 * Which archives are refused, with which words, is in `test/functions/deploy/uploads/receive.test.ts`; here they meet the whole platform.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { throughProxy } from "../functions/deploy/lab-world.ts";
import { archive, pax, type RawEntry } from "../functions/deploy/uploads/archives.ts";
import {
  addLabServer,
  bootstrap,
  type RunningPlatform,
  startRunningPlatform,
} from "../functions/running-platform.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { canaryPattern, hostileStrings } from "./hostile-strings.ts";

/** Answers what the image has of the upload: a line each with mode, owner, kind and name, as JSON. */
const app = `const fs = require("node:fs");
process.on("SIGTERM", () => process.exit(0));
const found = [];
for (const entry of fs.readdirSync("/src", { recursive: true, withFileTypes: true })) {
  const path = entry.parentPath + "/" + entry.name;
  const { mode, uid, gid } = fs.lstatSync(path);
  const target = entry.isSymbolicLink() ? fs.readlinkSync(path) : "";
  found.push({ path: path.slice(5), mode: (mode & 0o7777).toString(8), owner: uid + ":" + gid, target });
}
require("node:http").createServer((request, response) => response.end(JSON.stringify(found))).listen(process.env.PORT);`;
const dockerfile = `FROM node:24-bookworm-slim\nCOPY . /src\nCMD ["node", "/src/app.js"]\n`;
const base: RawEntry[] = [
  { path: "Dockerfile", content: dockerfile },
  { path: "app.js", content: app },
];

describeWithLab("an uploaded archive", ({ server }) => {
  let platform: RunningPlatform;
  let project: { id: string; slug: string };
  beforeAll(async () => {
    platform = await startRunningPlatform();
    const serverId = await addLabServer(platform, server);
    await bootstrap(platform, serverId);
    const body = { name: "Archives", serverId, source: { kind: "upload" }, healthCheck: { path: "/" } };
    project = (await platform.call("POST", "/api/projects", body)).body.data;
  });
  afterAll(async () => {
    await platform.call("DELETE", `/api/projects/${project.id}`);
    await platform.close();
  });

  /** Sends it; the session of a refused one is of no use. */
  async function refused(sent: Uint8Array): Promise<{ status: number; code: string }> {
    const { body } = await platform.call("POST", "/api/deployments/upload-sessions", {
      projectId: project.id,
    });
    const { uploadSessionId } = body.data;
    const answer = await platform.call(
      "PUT",
      `/api/deployments/upload-sessions/${uploadSessionId}/content`,
      sent,
    );
    const used = { projectId: project.id, uploadSessionId };
    expect((await platform.call("POST", "/api/deployments/build/access", used)).status).toBe(400);
    return { status: answer.status, code: answer.body.code };
  }

  it.each<[string, RawEntry[]]>([
    ["a link to the server's root", [{ path: "l", type: "2", target: "/" }]],
    [
      "a folder that becomes a link before what lies in it",
      [
        { path: "d/", type: "5" },
        { path: "d", type: "2", target: "../../../../../etc" },
        { path: "d/slipway-canary-zq99z", content: "x" },
      ],
    ],
    ["a hard link to a file of the server", [{ path: "h", type: "1", target: "/etc/shadow" }]],
    ["a device", [{ path: "disk", type: "4" }]],
  ])("with %s is refused before anything reaches the server", async (_what, entries) => {
    expect(await refused(archive(...base, ...entries))).toEqual({ status: 400, code: "archive_unsafe" });
  });

  it("keeps names and inner links as they are, and no right, owner or attribute of where it came from", async () => {
    const names = hostileStrings
      .map(({ text }) => text)
      .filter((text) => !/\p{Cc}/u.test(text) && !/^\/|\.\.\/|\/\//.test(text) && text.length < 200);
    expect(names.length).toBeGreaterThan(10);
    const tarOptions = [
      "--checkpoint=1",
      `--checkpoint-action=exec=touch ${"slipway-canary-zq98z"}`,
      "-rf",
      "*",
      "~",
      " ",
    ];
    const file = (path: string): RawEntry[] => [
      pax({ path: `odd/${path}` }),
      { path: "short", content: "x" },
    ];
    const done = await platform.deployUpload(
      project.id,
      archive(
        ...base,
        ...[...names, ...tarOptions].flatMap(file),
        ...tarOptions.slice(0, 3).map((path) => ({ path, content: "x" })),
        // One that would name every entry behind it is passed over.
        { ...pax({ path: "../../../../../tmp/slipway-canary-zq99z" }), type: "g" },
        { path: "rights/setuid", content: "#!/bin/sh\n", mode: 0o6755 },
        { path: "rights/open", content: "x", mode: 0o7777 },
        { path: "rights/folder/", type: "5", mode: 0o7777 },
        pax({
          "SCHILY.xattr.security.capability": "\u0001\u0000",
          "SCHILY.xattr.user.x": "y",
          mode: "6777",
          uid: "0",
        }),
        { path: "rights/capable", content: "x" },
        { path: "links/up", type: "2", target: "../rights/open" },
        { path: "links/loop", type: "2", target: "loop" },
        { path: "links/hard", type: "1", target: "app.js" },
      ),
    );
    expect(done).toMatchObject({ status: "ready", error: null });
    const { body } = await throughProxy(server, new URL(done.urls[0]).hostname, "/");
    const found: { path: string; mode: string; owner: string; target: string }[] = JSON.parse(body);
    const of = (path: string) => found.find((each) => each.path === path);
    for (const name of [...names, ...tarOptions])
      expect([name, of(`odd/${name}`)?.mode]).toEqual([name, "644"]);
    expect(of("rights/setuid")?.mode).toBe("755");
    expect(of("rights/open")?.mode).toMatch(/^(644|755)$/);
    expect(of("rights/folder")?.mode).toBe("755");
    expect(of("rights/capable")?.mode).toBe("644");
    expect(of("links/up")?.target).toBe("../rights/open");
    expect(of("links/loop")?.target).toBe("loop");
    expect(new Set(found.map(({ owner }) => owner))).toEqual(new Set(["0:0"]));
    const odd = found.filter(({ mode, target }) => target === "" && !["644", "755"].includes(mode));
    expect(odd).toEqual([]);
  });

  it("has left nothing outside of its folder, and nothing of it ran", async () => {
    const everywhere =
      "find / -path /proc -prune -o -name '*slipway-canary-*' -print; ls -A /etc/slipway* /tmp/short 2>/dev/null; :";
    const found = (await server.read(["sh", "-c", everywhere])).split("\n");
    const names = found.filter(
      (path) =>
        canaryPattern.test(path) &&
        !/\/(odd|source|src)\//.test(path) &&
        !path.includes("--checkpoint-action"),
    );
    expect(names).toEqual([]);
    expect(platform.errors()).toEqual([]);
  });
});
