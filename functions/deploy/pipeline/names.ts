/**
 * Names of what a deployment leaves on a server: made from ids alone, so that every owner finds the same things again
 * and nothing of a user ever becomes a name. Image names must be lower-case.
 */
import { createHash } from "node:crypto";

const rootDirectory = "/var/lib/slipway";

export interface Names {
  /** Bare repository of the project. */
  repository: string;
  /** Files of this deployment, removed when it is over. */
  directory: string;
  source: string;
  imageRepository: string;
  imageTag: string;
  image: string;
  container: string;
  network: string;
  fetchUnit: string;
  buildUnit: string;
  /** Address in /etc/hosts of every process of the build: how they are found again, whatever builder made them. */
  marker: string;
}

export function namesOf(deployment: { id: string; projectId: string }): Names {
  const { id, projectId } = deployment;
  const directory = `${rootDirectory}/operations/${id}`;
  const imageRepository = `slipway/${projectId.toLowerCase()}`;
  return {
    repository: `${rootDirectory}/projects/${projectId}/repository.git`,
    directory,
    source: `${directory}/source`,
    imageRepository,
    imageTag: tagOf(id),
    image: `${imageRepository}:${tagOf(id)}`,
    container: containerOf(id),
    network: `slipway-${projectId.toLowerCase()}`,
    fetchUnit: `${id}-fetch`,
    buildUnit: `${id}-build`,
    marker: markerOf(id),
  };
}

function tagOf(deploymentId: string): string {
  return deploymentId.toLowerCase();
}

export function containerOf(deploymentId: string): string {
  return `slipway-${deploymentId.toLowerCase()}`;
}

/** A private IPv6 address with 120 bits of the id's digest; the builders leave addresses out of their cache keys. */
function markerOf(deploymentId: string): string {
  const digest = createHash("sha256").update(deploymentId).digest("hex").slice(0, 28);
  return `fd00:${digest.match(/.{4}/g)?.join(":") ?? ""}`;
}
