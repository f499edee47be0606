/**
 * Where a credential for images goes: a host, and nothing else. Docker Hub has three names; it is kept under the one
 * that people write, and its credentials are found under the one that engines have used since the beginning.
 */
const dockerHub = "docker.io";

/** One spelling of a registry's host. */
export function plainRegistryHost(host: string): string {
  const lower = host.toLowerCase();
  const hub = ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];
  return hub.includes(lower) ? dockerHub : lower.replace(/:443$/, "");
}

/** The key of a host in the engine's own configuration, and its `serveraddress`. */
export function engineAddress(host: string): string {
  return host === dockerHub ? "https://index.docker.io/v1/" : host;
}
