/**
 * Named volumes of an app, from the short form to what the engine is told. Their names on the server are made from the
 * project's id and the given name, so that two projects never share one by accident; every release of the project mounts
 * the same ones, and only the deletion of the project with its volumes removes them.
 */
export interface Volume {
  /** On the server. */
  source: string;
  target: string;
  readOnly: boolean;
}

/** `data:/var/lib/data:ro`, as the contract has checked it. */
export function volumesOf(projectId: string, short: readonly string[]): Volume[] {
  return short.map((text) => {
    const [name = "", target = "", mode] = text.split(":");
    return { source: `slipway-${projectId.toLowerCase()}-${name}`, target, readOnly: mode === "ro" };
  });
}

/** As the engine's API takes them; one that is not there yet is made, with the project's label. */
export function mountsOf(volumes: readonly Volume[], projectId: string) {
  return volumes.map(({ source, target, readOnly }) => ({
    Type: "volume",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    VolumeOptions: { Labels: { "slipway.project": projectId } },
  }));
}

/** Two versions at once would write into the same files; who wants that says `rolling`. */
export function writesVolume(volumes: readonly Volume[]): boolean {
  return volumes.some(({ readOnly }) => !readOnly);
}
