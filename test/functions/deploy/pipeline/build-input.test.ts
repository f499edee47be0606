/** What a build is handed on standard input, read by a real shell as the script reads it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildInput, buildScript, explainBuild } from "../../../../functions/deploy/pipeline/build.ts";
import { mountsOf, volumesOf, writesVolume } from "../../../../functions/deploy/pipeline/volumes.ts";

/** In place of the engine's client, which keeps what it could read, and of what the engine would say of the image. */
const client = `#!/bin/sh
[ -z "\${DOCKER_CONFIG:-}" ] || cat "$DOCKER_CONFIG/config.json" >"$SEEN/config"
cp "$DIRECTORY/environment" "$SEEN/seen-environment"
`;
const engine = `#!/bin/sh\necho '{}'\n`;

describe("the input of a build", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "slipway-build-"));
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/docker"), client, { mode: 0o755 });
    writeFileSync(join(folder, "bin/curl"), engine, { mode: 0o755 });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = (dockerfile: string, registries: Parameters<typeof buildInput>[0]) => {
    const file = join(folder, "Dockerfile");
    const args = [folder, folder, file, dockerfile, "tag", "fd00::1", "1", "o", "p", "d", "", "", ""];
    execFileSync("sh", ["-c", buildScript, "build", ...args], {
      input: buildInput(registries, { WORD: "it's $HOME\nand more" }),
      env: { PATH: `${folder}/bin:${process.env["PATH"]}`, HOME: folder, SEEN: folder, DIRECTORY: folder },
    });
    const left = readdirSync(folder);
    const config = left.includes("config") ? JSON.parse(readFileSync(join(folder, "config"), "utf8")) : null;
    return { config, left, environment: readFileSync(join(folder, "seen-environment"), "utf8") };
  };
  const access = (host: string) => ({ host, username: "ada", secret: `of ${host} "'$x\\` });
  const auth = (host: string) => ({
    auth: Buffer.from(`ada:of ${host} "'$x\\`).toString("base64"),
  });

  it("becomes credentials of the registries that the Dockerfile names, and of Docker Hub", () => {
    const registries = ["a.test:5000", "b.test", "docker.io"].map(access);
    const { config, left, environment } = run("FROM a.test:5000/team/x:1\n", registries);
    expect(config).toEqual({
      auths: { "a.test:5000": auth("a.test:5000"), "https://index.docker.io/v1/": auth("docker.io") },
    });
    expect(left).not.toContain("docker");
    expect(left).not.toContain("environment");
    expect(environment).toBe("WORD='it'\\''s $HOME\nand more'\n");
  });

  it("leaves the engine client's own configuration alone where no credential is needed", () => {
    expect(run("FROM c.test/x\n", [access("a.test")]).config).toBeNull();
    expect(run("FROM c.test/x\n", []).environment).toContain("WORD=");
  });
});

describe("a build that failed", () => {
  it.each([
    ["pulling from host a.test failed with status code [manifests 1]: 401 Unauthorized", "image_not_allowed"],
    ["a.test/x:1: failed to resolve source metadata for a.test/x:1: 401 Unauthorized", "image_not_allowed"],
    [
      "pull access denied for team/x, repository does not exist or may require 'docker login'",
      "image_not_allowed",
    ],
    ["npm error code E401\nnpm error 401 Unauthorized - GET https://npm.test/x", "build_failed"],
  ])("for %j is told apart: %s", (line, code) => {
    expect(explainBuild(1, ["first", ...line.split("\n")])).toMatchObject({ code });
  });
});

describe("volumes", () => {
  it("have names of the project on the server, and only a written one makes two versions impossible", () => {
    const volumes = volumesOf("prj_01ABC", ["data:/var/lib/data", "conf:/conf:ro"]);
    const label = { Labels: { "slipway.project": "prj_01ABC" } };
    const mount = { Type: "volume", VolumeOptions: label };
    expect(mountsOf(volumes, "prj_01ABC")).toEqual([
      { ...mount, Source: "slipway-prj_01abc-data", Target: "/var/lib/data", ReadOnly: false },
      { ...mount, Source: "slipway-prj_01abc-conf", Target: "/conf", ReadOnly: true },
    ]);
    expect([writesVolume(volumes), writesVolume(volumes.slice(1)), writesVolume([])]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
