import { describe, expect, it } from "vitest";
import { projectUrls, publicUrl, servedOverTls } from "../../../shared/proxy/address.ts";
import { proxyConfiguration } from "../../../shared/proxy/configuration.ts";

const notDeployed = {
  handle: [
    {
      handler: "static_response",
      status_code: 404,
      headers: { "Content-Type": ["text/plain; charset=utf-8"] },
      body: "Nothing is deployed under this name.\n",
    },
  ],
};
const announce = {
  match: [
    {
      vars: { "{http.request.proto}": ["HTTP/1.0", "HTTP/1.1"] },
      file: { root: "/run/slipway", try_files: ["/changing"] },
      not: [{ header: { Upgrade: ["*"] } }],
    },
  ],
  handle: [{ handler: "headers", response: { set: { Connection: ["close"] } } }],
};
const admin = {
  listen: "unix//run/slipway/caddy-admin.sock",
  origins: ["localhost"],
  config: { persist: false },
};
const toApp = {
  handler: "reverse_proxy",
  upstreams: [{ dial: "tcp{http.matchers.file.relative}" }],
  load_balancing: { try_duration: "2s", try_interval: "100ms" },
};
const app = (hostname: string) => ({
  host: [hostname],
  file: {
    root: "/var/lib/slipway/caddy/ports/prj_1",
    try_files: ["/*"],
    try_policy: "most_recently_modified",
  },
});

describe("the proxy's configuration", () => {
  it("answers 404 to every name while nothing is deployed, and listens on 80 only", () => {
    expect(proxyConfiguration([])).toEqual({
      admin,
      apps: {
        http: {
          http_port: 80,
          https_port: 443,
          servers: {
            http: {
              listen: [":80"],
              protocols: ["h1", "h2"],
              automatic_https: { disable: true },
              routes: [announce, notDeployed],
            },
          },
        },
      },
    });
  });

  it("serves local names over http and all others over https, sending http there", () => {
    const hostnames = [
      { hostname: "shop.localhost" },
      { hostname: "shop.example.com" },
      { hostname: "old.example.com", redirectTo: "https://shop.example.com" },
      { hostname: "api.test", targetPath: "/v2/" },
    ];
    const made = proxyConfiguration([{ projectId: "prj_1", hostnames, upstreamPort: 20_000 }], {
      acmeDirectory: "https://acme.test/dir",
      publicHttpsPort: 8443,
    });
    const redirect = (Location: string) => ({
      handler: "static_response",
      status_code: 308,
      headers: { Location: [Location] },
    });
    const rewrite = { handler: "rewrite", uri: "/v2{http.request.uri}" };
    expect(made["apps"]).toEqual({
      http: {
        http_port: 80,
        https_port: 443,
        servers: {
          http: {
            listen: [":80"],
            protocols: ["h1", "h2"],
            automatic_https: { disable: true },
            routes: [
              announce,
              { match: [app("api.test")], handle: [rewrite, toApp], terminal: true },
              { match: [app("shop.localhost")], handle: [toApp], terminal: true },
              {
                match: [{ host: ["old.example.com", "shop.example.com"] }],
                handle: [redirect("https://{http.request.host}:8443{http.request.uri}")],
                terminal: true,
              },
              notDeployed,
            ],
          },
          https: {
            listen: [":443"],
            protocols: ["h1", "h2"],
            automatic_https: { disable_redirects: true },
            routes: [
              announce,
              {
                match: [{ host: ["old.example.com"] }],
                handle: [redirect("https://shop.example.com{http.request.uri}")],
                terminal: true,
              },
              { match: [app("shop.example.com")], handle: [toApp], terminal: true },
              notDeployed,
            ],
          },
        },
      },
      tls: { automation: { policies: [{ issuers: [{ module: "acme", ca: "https://acme.test/dir" }] }] } },
    });
  });

  it("is the same for the same routes in another order", () => {
    const a = { projectId: "a", hostnames: [{ hostname: "a.test" }], upstreamPort: 20_000 };
    const b = { projectId: "b", hostnames: [{ hostname: "b.test" }], upstreamPort: 20_001 };
    expect(JSON.stringify(proxyConfiguration([a, b]))).toBe(JSON.stringify(proxyConfiguration([b, a])));
  });

  it("is the same whichever container serves: a new version needs no load", () => {
    const at = (upstreamPort: number) =>
      proxyConfiguration([{ projectId: "a", hostnames: [{ hostname: "a.test" }], upstreamPort }]);
    expect(at(20_000)).toEqual(at(20_001));
  });

  it("keeps the path of the request only where the redirect names none", () => {
    const locationOf = (redirectTo: string) => {
      const hostnames = [{ hostname: "a.test", redirectTo }];
      const made = JSON.stringify(proxyConfiguration([{ projectId: "p", hostnames, upstreamPort: 1 }]));
      return /"Location":\["([^"]*)"\]/.exec(made)?.[1];
    };
    expect(locationOf("https://b.test/")).toBe("https://b.test{http.request.uri}");
    expect(locationOf("https://b.test/new?x=1")).toBe("https://b.test/new?x=1");
  });
});

describe("addresses", () => {
  it("are https for public names and http for local names and bare addresses", () => {
    for (const name of ["a.localhost", "localhost", "a.test", "a.b.internal", "10.0.0.1", "::1", "host"]) {
      expect(servedOverTls(name), name).toBe(false);
    }
    for (const name of ["example.com", "a.test.example", "localhost.example.com", "10.0.0.1.nip.io"]) {
      expect(servedOverTls(name), name).toBe(true);
    }
  });

  it("carry the public port where it is not the usual one", () => {
    const mapped = { httpPort: 8080, httpsPort: 8443 };
    expect(publicUrl("a.test", mapped)).toBe("http://a.test:8080");
    expect(publicUrl("a.example", mapped)).toBe("https://a.example:8443");
    expect(publicUrl("a.test", { httpPort: 80, httpsPort: 443 })).toBe("http://a.test");
    expect(projectUrls({ slug: "shop" }, [], mapped, "localhost")).toEqual(["http://shop.localhost:8080"]);
  });
});
