/**
 * The proxy's whole configuration as a pure function of what should be served (decision 0003), but for the ports: those
 * the proxy finds as names of files (decision 0006), so that a new version of an app needs no load. Two listeners: one for
 * plain http, which also sends the names with certificates on to https, and one for TLS, which exists only while a name
 * needs it (Caddy would otherwise serve plain http on 443). Rejected: a Caddyfile (a second language with its own
 * quoting), Caddy's own redirects (they do not know the public port behind a NAT).
 */
import { servedOverTls } from "./address.ts";

export interface RoutedHostname {
  hostname: string;
  /** Send every request there instead, for good; an address without a path keeps the path of the request. */
  redirectTo?: string | undefined;
  /** Put in front of the path of every request to the app. */
  targetPath?: string | undefined;
}

export interface DesiredRoute {
  projectId: string;
  hostnames: readonly RoutedHostname[];
  /** Loopback port of the active container. */
  upstreamPort: number;
}

export interface ProxyOptions {
  /** Directory URL of the certificate authority. Default: the proxy's own choice (Let's Encrypt). */
  acmeDirectory?: string | undefined;
  /** The public port of https, for redirects. Default 443. */
  publicHttpsPort?: number;
  /** Where the proxy listens; other ports than 80 and 443 are for tests. */
  httpPort?: number;
  httpsPort?: number;
  adminSocket?: string;
}

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Everything about the proxy on a server. Readable by the proxy's own user, writable by root only. */
export const proxyDirectory = "/var/lib/slipway/caddy";
/** A folder a project, in it a file named as the address of its active container. Where there are several, the one touched last counts. */
export const portsDirectory = `${proxyDirectory}/ports`;

/** Made by the proxy's unit, gone with it. */
const runtimeDirectory = "/run/slipway";
/** The unix socket of the proxy's admin interface on every server. */
export const adminSocket = `${runtimeDirectory}/caddy-admin.sock`;
/** While this file is there, HTTP/1 answers carry `Connection: close`. */
export const announceFile = `${runtimeDirectory}/changing`;

export function proxyConfiguration(routes: readonly DesiredRoute[], options: ProxyOptions = {}): JsonObject {
  const { httpPort = 80, httpsPort = 443, publicHttpsPort = 443 } = options;
  const all = routes.flatMap((route) =>
    route.hostnames.map((name) => ({ ...name, projectId: route.projectId })),
  );
  const sorted = all.sort((a, b) => (a.hostname < b.hostname ? -1 : 1));
  const secure = sorted.filter((name) => servedOverTls(name.hostname));
  const plain = sorted.filter((name) => !servedOverTls(name.hostname));
  const http = {
    listen: [`:${httpPort}`],
    protocols: ["h1", "h2"],
    automatic_https: { disable: true },
    routes: [announce, ...plain.map(hostRoute), ...toHttps(secure, publicHttpsPort), notDeployed],
  };
  const https = {
    listen: [`:${httpsPort}`],
    protocols: ["h1", "h2"],
    automatic_https: { disable_redirects: true },
    routes: [announce, ...secure.map(hostRoute), notDeployed],
  };
  return {
    // An admin socket answers 403 to every host that is not listed; nothing is kept beside our own file.
    admin: {
      listen: `unix/${options.adminSocket ?? adminSocket}`,
      origins: ["localhost"],
      config: { persist: false },
    },
    apps: {
      http: {
        http_port: httpPort,
        https_port: httpsPort,
        servers: { http, ...(secure.length > 0 ? { https } : {}) },
      },
      ...(secure.length > 0 ? tls(options.acmeDirectory) : {}),
    },
  };
}

/**
 * A load closes idle connections, and a request that is on its way on one of them would be lost: 60 % of busy HTTP/1
 * connections in a test. Clients that are told beforehand open a new one instead; then none of 33,000 was lost.
 * HTTP/2 tells its clients by itself; an upgrade keeps its own Connection header.
 */
const announce: JsonObject = {
  match: [
    {
      vars: { "{http.request.proto}": ["HTTP/1.0", "HTTP/1.1"] },
      file: { root: runtimeDirectory, try_files: [announceFile.slice(runtimeDirectory.length)] },
      not: [{ header: { Upgrade: ["*"] } }],
    },
  ],
  handle: [{ handler: "headers", response: { set: { Connection: ["close"] } } }],
};

type ServedName = RoutedHostname & { projectId: string };

function hostRoute({ hostname, redirectTo, targetPath, projectId }: ServedName): JsonObject {
  const host = [hostname];
  if (redirectTo !== undefined) return { match: [{ host }], handle: [redirect(redirectTo)], terminal: true };
  const file = {
    root: `${portsDirectory}/${projectId}`,
    try_files: ["/*"],
    try_policy: "most_recently_modified",
  };
  return { match: [{ host, file }], handle: toApp(targetPath), terminal: true };
}

function toApp(targetPath: string | undefined): Json[] {
  const prefix = (targetPath ?? "").replace(/\/+$/, "");
  const rewrite = prefix === "" ? [] : [{ handler: "rewrite", uri: `${prefix}{http.request.uri}` }];
  // Tries again for a moment while nothing listens: an engine that restarts its container costs time, not requests.
  const proxy = {
    handler: "reverse_proxy",
    // The name of the file that matched, behind its slash: "tcp/127.0.0.1:21000".
    upstreams: [{ dial: "tcp{http.matchers.file.relative}" }],
    load_balancing: { try_duration: "2s", try_interval: "100ms" },
  };
  return [...rewrite, proxy];
}

function redirect(to: string): JsonObject {
  const url = new URL(to);
  const bare = url.pathname === "/" && url.search === "" && url.hash === "";
  const location = bare ? `${url.origin}{http.request.uri}` : url.href;
  return { handler: "static_response", status_code: 308, headers: { Location: [location] } };
}

function toHttps(secure: readonly RoutedHostname[], publicHttpsPort: number): Json[] {
  if (secure.length === 0) return [];
  const port = publicHttpsPort === 443 ? "" : `:${publicHttpsPort}`;
  const location = `https://{http.request.host}${port}{http.request.uri}`;
  return [
    {
      match: [{ host: secure.map((name) => name.hostname) }],
      handle: [{ handler: "static_response", status_code: 308, headers: { Location: [location] } }],
      terminal: true,
    },
  ];
}

const notDeployed: JsonObject = {
  handle: [
    {
      handler: "static_response",
      status_code: 404,
      headers: { "Content-Type": ["text/plain; charset=utf-8"] },
      body: "Nothing is deployed under this name.\n",
    },
  ],
};

function tls(acmeDirectory: string | undefined): JsonObject {
  if (acmeDirectory === undefined) return {};
  const issuers = [{ module: "acme", ca: acmeDirectory }];
  return { tls: { automation: { policies: [{ issuers }] } } };
}
