/** Private base images, from Debian's docker-registry with a password, on the server that pulls. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { LabServer } from "../../lab/server.ts";
import { openPlatformBeside } from "../platform/beside-deploy.ts";
import type { Caller } from "../platform/platform.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { filesWith, watchFor } from "./secret-witness.ts";

const host = "127.0.0.1:5000";
const image = `${host}/team/words:1`;

/** `$1` image; the password on standard input. Leaves no login and no copy of the image behind. */
const prepareScript = `set -e
IFS= read -r password
apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends docker-registry apache2-utils
printf '%s' "$password" | htpasswd -niB ada >/etc/docker/registry/users
chmod 0644 /etc/docker/registry/users
cat >/etc/docker/registry/config.yml <<END
version: 0.1
storage: { filesystem: { rootdirectory: /var/lib/docker-registry } }
http: { addr: 127.0.0.1:5000 }
auth: { htpasswd: { realm: words, path: /etc/docker/registry/users } }
END
systemctl restart docker-registry
until curl --silent --output /dev/null http://127.0.0.1:5000/v2/; do sleep 0.2; done
cd "$(mktemp -d)"
echo private-words >words
printf 'FROM scratch\\nCOPY words /words\\n' >Dockerfile
docker build --quiet --tag "$1" .
export DOCKER_CONFIG=$PWD/config
printf '%s' "$password" | docker login --username ada --password-stdin 127.0.0.1:5000
docker push --quiet "$1"
docker image rm "$1"
docker builder prune --force --all
rm -rf "$PWD"`;

const app = {
  Dockerfile: `FROM ${image} AS words\nFROM node:24-bookworm-slim\nCOPY --from=words /words /words\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n`,
  "app.js": `const words = require("node:fs").readFileSync("/words", "utf8");
require("node:http").createServer((request, response) => response.end(words)).listen(process.env.PORT);`,
};

describeWithLab("a build on a private base image", (lab) => {
  let server: LabServer;
  let world: LabWorld;
  let beside: { call: Caller; close: () => Promise<void> };
  const password = randomBytes(16).toString("hex");
  beforeAll(async () => {
    server = await lab.startServer();
    const done = await server.exec(["sh", "-c", prepareScript, "prepare", image], {
      input: `${password}\n`,
      deadlineMs: 150_000,
    });
    expect(done.code, `${done.stdout}${done.stderr}`.slice(-2_000)).toBe(0);
    world = await openLabWorld({ server, git: lab.git });
    beside = await openPlatformBeside(world);
  });
  afterAll(async () => {
    await beside.close();
    await world.close();
    await server.remove();
  });

  const add = async (secret: string): Promise<string> => {
    const wanted = { name: "words", host, username: "ada", secret };
    const { status, body } = await beside.call("POST", "/api/registries", wanted);
    expect(status, JSON.stringify(body)).toBe(201);
    return body.data.id;
  };
  const check = async (id: string) => (await beside.call("POST", `/api/registries/${id}/check`)).body.data;
  const forget = (id: string) => beside.call("DELETE", `/api/registries/${id}`);
  const encoded = Buffer.from(`ada:${password}`).toString("base64");

  it("fails without a credential, and says what to do", async () => {
    const failed = await (await world.project(app)).deploy();
    expect(failed).toMatchObject({ status: "failed", error: { code: "image_not_allowed" } });
    expect(failed.error.hint).toContain("/api/registries");
  });

  it("fails with a wrong one, which its check says as well", async () => {
    const id = await add("not-the-password");
    expect(await check(id)).toMatchObject({
      ok: false,
      code: "registry_not_allowed",
      serverId: world.serverId,
    });
    expect(await (await world.project(app)).deploy()).toMatchObject({
      status: "failed",
      error: { code: "image_not_allowed" },
    });
    await forget(id);
  });

  it("goes live with the right one, which is in no process, no file and no log", async () => {
    const id = await add(password);
    expect(await check(id)).toEqual({ ok: true, serverId: world.serverId });
    const project = await world.project(app);
    const witness = watchFor(server, encoded, "docker build");
    const done = await project.deploy();
    const { busy, seen } = await witness.end();
    expect(done).toMatchObject({ status: "ready", error: null });
    expect((await project.get()).body).toBe("private-words\n");
    expect(busy).toBeGreaterThan(0);
    expect(seen).toBe(0);
    expect([await filesWith(server, encoded), await filesWith(server, password)]).toEqual(["", ""]);
    const left = `find /var/lib/slipway/operations/${done.id} /root/.docker -name 'config.json' 2>/dev/null || true`;
    expect(await server.read(["sh", "-c", left])).toBe("");
    const logs = await world.organization.call("GET", `/api/deployments/${done.id}/logs`);
    expect(JSON.stringify(logs.body)).toContain("words:1");
    expect(JSON.stringify(logs.body)).not.toMatch(new RegExp(`${password}|${encoded}`));
    await forget(id);
  });

  it("is not handed a credential that its Dockerfile does not name", async () => {
    const id = await add(password);
    const text = 'FROM node:24-bookworm-slim\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n';
    const project = await world.project({
      ...app,
      Dockerfile: text,
      "app.js": app["app.js"].replace("/words", "/etc/hostname"),
    });
    const script = `while :; do for c in /var/lib/slipway/operations/*/docker/config.json; do [ ! -L "$c" ] || { echo handed; exit; }; done; [ ! -e /dev/shm/over ] || exit 0; done`;
    const looking = server.exec(["sh", "-c", script], { deadlineMs: 150_000 });
    expect(await project.deploy()).toMatchObject({ status: "ready" });
    await server.exec(["touch", "/dev/shm/over"]);
    expect((await looking).stdout).toBe("");
    await forget(id);
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
