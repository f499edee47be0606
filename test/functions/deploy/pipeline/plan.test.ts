import { describe, expect, it } from "vitest";
import type { Detected } from "../../../../functions/deploy/pipeline/detect.ts";
import { parsePackageJson } from "../../../../functions/deploy/pipeline/package-json.ts";
import { packageManagerOf } from "../../../../functions/deploy/pipeline/package-manager.ts";
import { planBuild } from "../../../../functions/deploy/pipeline/plan.ts";

const npm = packageManagerOf(["package-lock.json"], parsePackageJson("{}"));
const node = (change: Partial<Extract<Detected, { kind: "node" }>> = {}): Detected => ({
  kind: "node",
  framework: "nextjs",
  packageManager: npm,
  installCommand: "npm ci --no-audit --no-fund",
  manifests: ["package.json", "package-lock.json"],
  buildCommand: "npm run build",
  startCommand: "next start",
  ...change,
});
const text = (detected: Detected, options: Partial<Parameters<typeof planBuild>[1]> = {}) => {
  const plan = planBuild(detected, {
    build: {},
    mounts: true,
    environment: "abc123",
    volumePaths: [],
    cacheOf: null,
    ...options,
  });
  return plan.dockerfile.kind === "generated" ? plan.dockerfile.text.trimEnd().split("\n") : [];
};

describe("the build plan", () => {
  it("leaves a Dockerfile of one's own as it is", () => {
    expect(
      planBuild(
        { kind: "dockerfile", dockerfile: "Dockerfile" },
        { build: {}, mounts: true, environment: null, volumePaths: [], cacheOf: null },
      ),
    ).toEqual({
      title: "Dockerfile of the repository",
      context: ".",
      dockerfile: { kind: "own", path: "Dockerfile" },
      port: null,
      init: false,
    });
  });

  it("of a Node application has its layers in the order in which they change", () => {
    expect(text(node())).toEqual([
      "FROM node:24-bookworm-slim",
      "RUN mkdir -p /app /home/node/.npm && chown -R node:node /app /home/node",
      "WORKDIR /app",
      "USER node",
      "ENV PATH=/app/node_modules/.bin:$PATH",
      'COPY --chown=node:node ["package.json","package-lock.json","./"]',
      'RUN --mount=type=cache,target=/home/node/.npm,uid=1000,gid=1000 ["/bin/sh","-c","npm ci --no-audit --no-fund"]',
      'COPY --chown=node:node [".","./"]',
      "ENV NODE_ENV=production",
      "ARG SLIPWAY_ENVIRONMENT=abc123",
      'RUN --mount=type=secret,id=slipway-env,target=/run/slipway-env,uid=1000 ["/bin/sh","-c","set -a; . /run/slipway-env; set +a; eval \\"$1\\"","build","npm run build"]',
      "ENV HOST=0.0.0.0",
      'CMD ["/bin/sh","-c","next start"]',
    ]);
  });

  it("among strangers takes layers of its own project alone from the cache", () => {
    const site: Detected = {
      ...node(),
      kind: "site",
      outputDirectory: "dist",
      singlePage: false,
    } as Detected;
    const lines = text(site, { cacheOf: "prj_1", mounts: false });
    const starts = lines.flatMap((line, at) => (line.startsWith("FROM ") ? [lines[at + 1]] : []));
    expect(starts).toEqual(["LABEL slipway.cache=prj_1", "LABEL slipway.cache=prj_1"]);
    expect(lines.join()).not.toContain("--mount");
  });

  it("of an old builder has no mounts, and copies everything first where the install step may need it", () => {
    expect(text(node({ manifests: null }), { mounts: false })).toEqual([
      "FROM node:24-bookworm-slim",
      "RUN mkdir -p /app /home/node/.npm && chown -R node:node /app /home/node",
      "WORKDIR /app",
      "USER node",
      "ENV PATH=/app/node_modules/.bin:$PATH",
      'COPY --chown=node:node [".","./"]',
      'RUN ["/bin/sh","-c","npm ci --no-audit --no-fund"]',
      "ENV NODE_ENV=production",
      'RUN ["/bin/sh","-c","npm run build"]',
      "ENV HOST=0.0.0.0",
      'CMD ["/bin/sh","-c","next start"]',
    ]);
  });

  it("of a site builds with Node and serves with Caddy, without root", () => {
    const detected: Detected = {
      kind: "site",
      framework: "vite",
      packageManager: npm,
      installCommand: null,
      manifests: [],
      buildCommand: "npm run build",
      outputDirectory: "di st",
      singlePage: true,
    };
    const lines = text(detected, { environment: null });
    expect(lines[0]).toBe("FROM node:24-bookworm-slim AS build");
    expect(lines.find((line) => line.includes('"collect"'))).toMatch(/"collect","di st"\]$/);
    expect(lines.slice(lines.indexOf("FROM caddy:2"), -1)).toEqual([
      "FROM caddy:2",
      'COPY --from=build ["/tmp/site/","/srv/"]',
      "ENV XDG_CONFIG_HOME=/tmp XDG_DATA_HOME=/tmp HOME=/tmp",
      "USER 65534:65534",
      "ENTRYPOINT []",
    ]);
    expect(lines.at(-1)).toContain("/index.html");
    expect(
      planBuild(detected, {
        build: { port: 9_000 },
        mounts: true,
        environment: null,
        volumePaths: [],
        cacheOf: null,
      }).port,
    ).toBe(9_000);
  });

  it("makes the folders of volumes in an image that runs without being root", () => {
    const lines = text(node(), { volumePaths: ["/data", "/var/lib/x"] });
    expect(lines[1]).toBe(
      'RUN ["/bin/sh","-c","mkdir -p -- \\"$@\\" && chown node:node -- \\"$@\\"","volumes","/data","/var/lib/x"]',
    );
    expect(text(node())[1]).not.toContain("volumes");
  });

  it("of plain files sends only their directory to the builder", () => {
    const plan = planBuild(
      { kind: "static", directory: "public" },
      { build: {}, mounts: true, environment: null, volumePaths: [], cacheOf: null },
    );
    expect(plan).toMatchObject({ context: "public", port: 8_080, init: true });
  });

  it("holds commands in JSON alone: no line of it begins with a user's word", () => {
    const hostile = '--mount=type=bind,source=/ \\\nRUN rm -rf / <<EOF $PATH "quoted"';
    for (const change of [
      { installCommand: hostile },
      { buildCommand: hostile },
      { startCommand: hostile },
    ]) {
      const lines = text(node(change));
      expect(lines).toHaveLength(text(node()).length);
      for (const line of lines.filter((each) => each.includes("rm -rf"))) {
        const array: unknown = JSON.parse(line.slice(line.indexOf("[")));
        expect(array).toContain(hostile);
      }
    }
  });
});
