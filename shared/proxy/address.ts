/**
 * Under which addresses a project answers, and with which scheme (decisions.md section 4, "Addresses"): its domains,
 * or `<slug>.<base domain>` while it has none. Names that no public authority certifies are served over http only.
 */

/** Ports under which the server is reached from outside; a NAT may map others than 80 and 443. */
export interface PublicPorts {
  httpPort: number;
  httpsPort: number;
}

/** Whether a name gets an automatic certificate: not under `localhost`, `.test` or `.internal`, and no bare address. */
export function servedOverTls(hostname: string): boolean {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(hostname) || hostname.includes(":")) return false;
  const last = hostname.slice(hostname.lastIndexOf(".") + 1);
  return hostname.includes(".") && !["localhost", "test", "internal"].includes(last);
}

/** `https://app.example.com`, with the port where it is not the usual one. */
export function publicUrl(hostname: string, ports: PublicPorts): string {
  return servedOverTls(hostname)
    ? `https://${hostname}${ports.httpsPort === 443 ? "" : `:${ports.httpsPort}`}`
    : `http://${hostname}${ports.httpPort === 80 ? "" : `:${ports.httpPort}`}`;
}

/** The address of a project without a domain of its own. */
export function defaultHostname(slug: string, baseDomain: string): string {
  return `${slug}.${baseDomain}`;
}

/** Where the project answers once it is live: its domains in the order they were attached, else the default address. */
export function projectUrls(
  project: { slug: string },
  domains: readonly { hostname: string }[],
  server: PublicPorts,
  baseDomain: string,
): string[] {
  const hostnames = domains.map((domain) => domain.hostname);
  const shown = hostnames.length > 0 ? hostnames : [defaultHostname(project.slug, baseDomain)];
  return shown.map((hostname) => publicUrl(hostname, server));
}
