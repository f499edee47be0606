/**
 * Lab servers that start with the product images already loaded. Loading takes several seconds a server, so it is done
 * once: a volume that a nested engine filled is kept, and each server gets a copy of it. Layers are hard links, which
 * the engine only ever reads; its small databases are real copies. Rejected: `docker load` in each server (6 s an image)
 * and copying the layers (400 MB a server). A test must not damage files below `/var/lib/docker/overlay2` by hand.
 */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { docker, pipeCommands, tryDocker } from "./docker.ts";
import { type LabImages, type ProductImage, timed } from "./images.ts";
import { labLabel } from "./labels.ts";
import { serverRunArguments, waitForBoot } from "./server-container.ts";

const storeKey = "slipway-lab.store";
const loadDeadlineMs = 180_000;

/** The prepared volume for these images; made when it is missing. Callers hold the lab's lock. */
export async function ensureStore(
  images: LabImages,
  names: readonly ProductImage[],
  say: (line: string) => void,
): Promise<string> {
  const store = `slipway-lab-store-${hash([images.dockerServer, names.map((name) => [name, images.product[name]])])}`;
  // A volume cannot say that it is complete, so a second one, made at the end, says it.
  if (await volumeExists(`${store}-ready`)) return store;
  await forgetOlder(images);
  await tryDocker(["volume", "rm", "-f", store]);
  await timed(`prepared images ${names.join(" ")}`, say, () => fillStore(store, images, names));
  await docker(["volume", "create", ...storeLabels(images), `${store}-ready`]);
  return store;
}

/** A volume of one server, filled from the prepared one. Takes well under a second. */
export async function copyStore(
  store: string,
  volume: string,
  labels: readonly string[],
  image: string,
): Promise<void> {
  await docker(["volume", "create", ...labels, volume]);
  const volumes = dirname(dirname(await docker(["volume", "inspect", "--format", "{{.Mountpoint}}", store])));
  // Both volumes through one mount: a hard link cannot cross from one mount to another.
  const script = `cd "/volumes/$1/_data" && to="/volumes/$2/_data" && cp -al overlay2 "$to/" \
&& find . -mindepth 1 -maxdepth 1 ! -name overlay2 -exec cp -a -t "$to" {} +`;
  const run = ["run", "--rm", "--network", "none", "--label", labLabel, "-v", `${volumes}:/volumes`, image];
  await docker([...run, "sh", "-c", script, "copy", store, volume]);
}

async function fillStore(store: string, images: LabImages, names: readonly ProductImage[]): Promise<void> {
  const container = `${store}-filler`;
  await tryDocker(["rm", "-f", "-v", container]);
  try {
    await docker(["volume", "create", ...storeLabels(images), store]);
    await docker(
      serverRunArguments({
        name: container,
        labels: ["--label", labLabel],
        volume: store,
        image: images.dockerServer,
      }),
    );
    await waitForBoot(container);
    // All in one stream, so that the layers they share travel once.
    const tags = names.map((name) => images.product[name]);
    const load: [string, ...string[]] = ["docker", "exec", "-i", container, "docker", "load", "-q"];
    await pipeCommands(["docker", "save", ...tags], load, loadDeadlineMs);
    for (const name of names) await docker(["exec", container, "docker", "tag", images.product[name], name]);
    await docker(["exec", container, "docker", "rmi", ...tags]);
    // The engine must close its databases before they are copied.
    await docker([
      "exec",
      container,
      "systemctl",
      "stop",
      "docker.service",
      "docker.socket",
      "containerd.service",
    ]);
  } finally {
    await tryDocker(["rm", "-f", "-v", container]);
  }
}

async function volumeExists(name: string): Promise<boolean> {
  return (await tryDocker(["volume", "inspect", name])).code === 0;
}

/** Stores that hold images of earlier recipes. Servers have copies of their own and do not notice. */
async function forgetOlder(images: LabImages): Promise<void> {
  const filter = ["--filter", `label=${storeKey}`, "--format", `{{.Name}} {{.Label "${storeKey}"}}`];
  for (const line of (await docker(["volume", "ls", ...filter])).split("\n")) {
    const [volume = "", generation] = line.split(" ");
    if (volume !== "" && generation !== generationOf(images)) await tryDocker(["volume", "rm", "-f", volume]);
  }
}

function storeLabels(images: LabImages): string[] {
  return ["--label", labLabel, "--label", `${storeKey}=${generationOf(images)}`];
}

function generationOf(images: LabImages): string {
  return hash([images.dockerServer, images.product]);
}

function hash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}
