/**
 * The floor of a deployment: the same steps in one shell script over one SSH command, as an able person would write
 * it. No log that survives, no health beyond an answer, no fence, no secret, no clean-up: the least that can be done.
 */
import { adminSocket } from "../../shared/proxy/configuration.ts";
import type { FloorSsh } from "./floor-ssh.ts";

export interface FloorDeploy {
  /** Fetches, builds, starts, switches. Answers the milliseconds of each step as the script saw them. */
  deploy(sha: string, options?: { url?: string; quiet?: boolean }): Promise<Record<string, number>>;
  /** Starts an image that is there and switches. */
  release(sha: string): Promise<Record<string, number>>;
  /** Removes every container but the one that serves; not measured. */
  tidy(): Promise<void>;
}

const folder = "/srv/floor";

const steps = `
set -eu
mark() { echo "$1 $(date +%s%3N)"; }
`;

/** `$1` url, `$2` commit. */
const produce = `
mark begin
[ -d ${folder}/repository ] || git init --quiet --bare ${folder}/repository
git -C ${folder}/repository fetch --quiet --depth=1 "$1" "$2"
rm -rf ${folder}/source && mkdir ${folder}/source
git -C ${folder}/repository archive "$2" | tar -x -C ${folder}/source
mark fetch
DOCKER_BUILDKIT=1 BUILDKIT_PROGRESS=plain docker build --tag "floor:$2" ${folder}/source >/dev/null 2>&1
mark build
`;

/** `$2` commit, `$3` port, `$4` container. */
const start = `
docker run --detach --pull never --restart unless-stopped --name "$4" --env PORT=3000 \\
  --publish "127.0.0.1:$3:3000" "floor:$2" >/dev/null
mark release
until curl -fs -o /dev/null --max-time 1 "http://127.0.0.1:$3/"; do sleep 0.05; done
mark health
curl -fsS --unix-socket ${adminSocket} -X PATCH -H 'content-type: application/json' \\
  --data "\\"127.0.0.1:$3\\"" http://localhost/id/app/dial
mark switch
`;

/** `host`: under which name the app answers. Gives the proxy a configuration of its own. */
export async function openFloorDeploy(ssh: FloorSsh, host: string, url: string): Promise<FloorDeploy> {
  const load = `mkdir -p ${folder}
curl -fsS --unix-socket ${adminSocket} -H 'content-type: application/json' --data "$1" http://localhost/load`;
  await ssh.run(["sh", "-c", load, "floor", JSON.stringify(configuration(host))]);
  let count = 0;
  let serving = "";
  const run = async (script: string, sha: string, from: string) => {
    count++;
    const port = 21_000 + (count % 1_000);
    serving = `floor-${count}`;
    return readMarks(await ssh.run(["sh", "-c", steps + script, "floor", from, sha, String(port), serving]));
  };
  return {
    deploy: (sha, options = {}) =>
      run(options.quiet === true ? produce : produce + start, sha, options.url ?? url),
    release: (sha) => run(`mark begin\n${start}`, sha, url),
    tidy: async () => {
      const remove = `for name in $(docker ps -a --format '{{.Names}}'); do
        [ "$name" = "$1" ] || docker rm --force "$name" >/dev/null; done`;
      await ssh.run(["sh", "-c", remove, "tidy", serving]);
    },
  };
}

function configuration(host: string): unknown {
  const upstream = { "@id": "app", dial: "127.0.0.1:1" };
  const route = { match: [{ host: [host] }], handle: [{ handler: "reverse_proxy", upstreams: [upstream] }] };
  const http = { listen: [":80"], automatic_https: { disable: true }, routes: [route] };
  return {
    admin: { listen: `unix/${adminSocket}`, origins: ["localhost"], config: { persist: false } },
    apps: { http: { servers: { http } } },
  };
}

function readMarks(text: string): Record<string, number> {
  const marks = text
    .trim()
    .split("\n")
    .map((line) => line.split(" "))
    .map(([name = "", at = "0"]) => ({ name, at: Number(at) }));
  return Object.fromEntries(
    marks.slice(1).map(({ name, at }, index) => [name, at - (marks[index]?.at ?? at)]),
  );
}
