/**
 * `compose.yaml` as a self-hoster runs it, on images that can be made without a registry: the product's own Dockerfile on
 * the lab's Node image, and Debian's Postgres in the place of the published one, with the same variables.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackages } from "./apt.ts";
import { describeFailure, docker, runCommand, tryDocker } from "./docker.ts";
import { findFreePort } from "./free-port.ts";
import type { LabImages } from "./images.ts";
import { labLabel } from "./labels.ts";

const root = new URL("../..", import.meta.url).pathname;
const buildMs = 600_000;
const upMs = 170_000;

export interface ComposedPlatform {
  url: string;
  /** `docker-compose …` on this project; answers what it printed. */
  compose(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** Builds a target of the Dockerfile; answers its tag. */
export async function buildProductImage(images: LabImages, target: "self-hosted" | "cloud"): Promise<string> {
  const tag = `slipway-lab/product-${target}:latest`;
  const from = ["--build-arg", `NODE_IMAGE=${images.product["node:24-bookworm-slim"]}`];
  await docker(["build", "-q", "--label", labLabel, ...from, "--target", target, "-t", tag, root], {
    env: { DOCKER_BUILDKIT: "0" },
    deadlineMs: buildMs,
  });
  return tag;
}

export async function composeUp(images: LabImages): Promise<ComposedPlatform> {
  if (!existsSync("/usr/bin/docker-compose")) await installPackages(["docker-compose"], () => undefined);
  const [product, postgres] = [await buildProductImage(images, "self-hosted"), await buildPostgres(images)];
  const folder = await mkdtemp(join(tmpdir(), "slipway-compose-"));
  const parts = ["set-up", "edge", "platform", "deploy", "notify"].map(
    (name) => [name, { image: product }] as const,
  );
  const services = Object.fromEntries([...parts, ["postgres", { image: postgres }]]);
  // JSON is YAML.
  await writeFile(join(folder, "images.json"), JSON.stringify({ version: "3.8", services }));
  const port = await findFreePort();
  const project = `slipway-lab-${randomBytes(3).toString("hex")}`;
  const files = ["-f", join(root, "compose.yaml"), "-f", join(folder, "images.json")];
  const env = {
    POSTGRES_PASSWORD: randomBytes(12).toString("hex"),
    SLIPWAY_LISTEN: `127.0.0.1:${port}`,
    SLIPWAY_BASE_URL: `http://127.0.0.1:${port}`,
  };
  const compose = async (...args: string[]) => {
    const argv = ["-p", project, ...files, ...args];
    const result = await runCommand("docker-compose", argv, { env, deadlineMs: upMs });
    if (result.code !== 0) throw new Error(describeFailure("docker-compose", args, result));
    return result.stdout.trimEnd();
  };
  const close = async () => {
    await compose("down", "--volumes", "--timeout", "5");
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await compose("up", "--detach", "--no-build");
  } catch (error) {
    const told = await tryDocker(["ps", "-a", "--filter", `name=${project}`]);
    await close();
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${told.stdout}`);
  }
  return { url: env.SLIPWAY_BASE_URL, compose, close };
}

async function buildPostgres(images: LabImages): Promise<string> {
  const tag = "slipway-lab/postgres:latest";
  await docker(["build", "-q", "--label", labLabel, "-t", tag, "-"], {
    env: { DOCKER_BUILDKIT: "0" },
    input: postgresDockerfile(images.product["debian:bookworm-slim"]),
    deadlineMs: buildMs,
  });
  return tag;
}

/** As the published image behaves at its first start: one role, one database, trust on its own socket. */
function postgresDockerfile(base: string): string {
  const start = [
    "set -e; export PATH=/usr/lib/postgresql/15/bin:$PATH",
    'if [ ! -s "$PGDATA/PG_VERSION" ]; then',
    '  echo "$POSTGRES_PASSWORD" > /tmp/password',
    '  initdb -U "$POSTGRES_USER" --pwfile /tmp/password --auth-local trust --auth-host scram-sha-256 > /dev/null',
    '  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"',
    '  pg_ctl -w -o "-c listen_addresses=" start > /dev/null',
    '  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"',
    "  pg_ctl -w -m fast stop > /dev/null",
    "fi",
    'exec postgres -c "listen_addresses=*"',
  ].join("\\n");
  return `FROM ${base}
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql-15 \\
 && rm -rf /var/lib/apt/lists/* && ln -s /usr/lib/postgresql/15/bin/pg_isready /usr/local/bin/pg_isready \\
 && mkdir -p /var/lib/postgresql/data /var/run/postgresql && chown -R postgres /var/lib/postgresql /var/run/postgresql
RUN printf '${start}\\n' > /start.sh
ENV PGDATA=/var/lib/postgresql/data/main
USER postgres
CMD ["bash", "/start.sh"]
`;
}
