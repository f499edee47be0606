import { expect, test } from "vitest";
import { readConfiguration } from "../../functions/configuration.ts";

const pooled = "srv_01M7YWH3TK2P78WFE51WEHZMP1";
const user = { isRoot: false, workingDirectory: "/srv/clone" };

test("without any variable everything has its default", () => {
  expect(readConfiguration({}, user)).toEqual({
    mode: "self-hosted",
    port: 3000,
    host: "127.0.0.1",
    baseUrl: "http://127.0.0.1:3000",
    dataFolder: "/srv/clone/.slipway",
    databaseUrl: undefined,
    gitWebhookSecret: undefined,
    trustedProxies: [],
    baseDomain: "localhost",
    acmeDirectory: undefined,
    apiPerMinute: 1_200,
    reconcileSeconds: 300,
    resolvers: [],
    allowPrivateTargets: [],
    smtp: undefined,
    logLevel: "info",
    pool: { serverIds: [], cpus: 1, memoryMB: 1_024, pids: 512 },
    warnings: [],
  });
});

test("every variable has its effect", () => {
  const read = readConfiguration(
    {
      SLIPWAY_MODE: "cloud",
      PORT: "8080",
      HOST: "::",
      SLIPWAY_BASE_URL: "https://slipway.example.com/",
      SLIPWAY_DATA_DIR: "data",
      DATABASE_URL: "postgres://u:p@db/slipway",
      GIT_WEBHOOK_SECRET: "0123456789abcdef",
      SLIPWAY_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,fd00::/8",
      SLIPWAY_BASE_DOMAIN: "Apps.Example.com",
      SLIPWAY_ACME_DIRECTORY: "https://localhost:14000/dir",
      SLIPWAY_API_LIMIT: "100000",
      SLIPWAY_RECONCILE_SECONDS: "60",
      SLIPWAY_RESOLVERS: "9.9.9.9, 127.0.0.1:5353,[::1]:53,::1",
      SLIPWAY_ALLOW_PRIVATE_TARGETS: "10.1.0.0/16,192.168.0.7",
      SLIPWAY_SMTP_URL: "smtp://u:p@mail.example.com:587",
      SLIPWAY_SMTP_FROM: "Slipway <slipway@example.com>",
      SLIPWAY_LOG_LEVEL: "debug",
      SLIPWAY_POOL_SERVERS: `${pooled}, ${pooled},`,
      SLIPWAY_POOL_CPUS: "0.5",
      SLIPWAY_POOL_MEMORY_MB: "512",
      SLIPWAY_POOL_PIDS: "100",
    },
    user,
  );
  expect(read).toEqual({
    mode: "cloud",
    port: 8080,
    host: "::",
    baseUrl: "https://slipway.example.com",
    dataFolder: "/srv/clone/data",
    databaseUrl: "postgres://u:p@db/slipway",
    gitWebhookSecret: "0123456789abcdef",
    trustedProxies: ["127.0.0.1", "10.0.0.0/8", "fd00::/8"],
    baseDomain: "apps.example.com",
    acmeDirectory: "https://localhost:14000/dir",
    apiPerMinute: 100_000,
    reconcileSeconds: 60,
    resolvers: ["9.9.9.9", "127.0.0.1:5353", "[::1]:53", "::1"],
    allowPrivateTargets: ["10.1.0.0/16", "192.168.0.7"],
    smtp: { url: "smtp://u:p@mail.example.com:587", from: "Slipway <slipway@example.com>" },
    logLevel: "debug",
    pool: { serverIds: [pooled], cpus: 0.5, memoryMB: 512, pids: 100 },
    warnings: [],
  });
});

test("as root the data folder is one whose parents the database's user may pass", () => {
  const read = readConfiguration({}, { ...user, isRoot: true });
  expect(read.dataFolder).toBe("/var/lib/slipway-platform");
});

test("an address that listens everywhere is not given to people", () => {
  expect(readConfiguration({ HOST: "0.0.0.0" }, user).baseUrl).toBe("http://localhost:3000");
  expect(readConfiguration({ HOST: "::1" }, user).baseUrl).toBe("http://[::1]:3000");
});

test.each([
  ["SLIPWAY_MODE", "clowd"],
  ["PORT", "0"],
  ["PORT", "65536"],
  ["PORT", "80a"],
  ["PORT", "1e3"],
  ["HOST", "everywhere"],
  ["SLIPWAY_BASE_URL", "slipway.example.com"],
  ["SLIPWAY_BASE_URL", "https://user:pw@slipway.example.com"],
  ["DATABASE_URL", "mysql://db/x"],
  ["GIT_WEBHOOK_SECRET", "short"],
  ["SLIPWAY_TRUSTED_PROXIES", "10.0.0.0/33"],
  ["SLIPWAY_TRUSTED_PROXIES", "proxy.example.com"],
  ["SLIPWAY_TRUSTED_PROXIES", "10.0.0.0/8/8"],
  ["SLIPWAY_BASE_DOMAIN", "-apps.example.com"],
  ["SLIPWAY_BASE_DOMAIN", "apps..example.com"],
  ["SLIPWAY_ACME_DIRECTORY", "ftp://ca"],
  ["SLIPWAY_API_LIMIT", "-1"],
  ["SLIPWAY_RESOLVERS", "dns.example.com"],
  ["SLIPWAY_RESOLVERS", "9.9.9.9:70000"],
  ["SLIPWAY_ALLOW_PRIVATE_TARGETS", "10.0.0.0/33"],
  ["SLIPWAY_ALLOW_PRIVATE_TARGETS", "intranet.example.com"],
  ["SLIPWAY_SMTP_URL", "https://mail.example.com"],
])("%s=%s stops the start with its name and an example", (name, value) => {
  expect(() => readConfiguration({ [name]: value }, user)).toThrow(
    expect.objectContaining({
      code: "configuration_invalid",
      message: expect.stringMatching(new RegExp(`^${name} .*For example: .+`)),
    }),
  );
});

test.each([
  ["SLIPWAY_POOL_SERVERS", "web-1"],
  ["SLIPWAY_POOL_CPUS", "0"],
  ["SLIPWAY_POOL_MEMORY_MB", "1gb"],
  ["SLIPWAY_POOL_MEMORY_MB", "512.5"],
  ["SLIPWAY_POOL_PIDS", "1"],
])("%s=%s stops the start of a cloud with its name and an example", (name, value) => {
  const cloud = { SLIPWAY_MODE: "cloud", DATABASE_URL: "postgres://db/slipway" };
  expect(() => readConfiguration({ ...cloud, [name]: value }, user)).toThrow(
    new RegExp(`^${name} .*For example: .+`),
  );
});

test("only a cloud has a pool", () => {
  for (const [name, value] of [
    ["SLIPWAY_POOL_SERVERS", pooled],
    ["SLIPWAY_POOL_PIDS", "100"],
  ] as const) {
    expect(() => readConfiguration({ [name]: value }, user)).toThrow(
      new RegExp(`^${name} is set, but only an instance with SLIPWAY_MODE=cloud`),
    );
  }
});

test("a mail server needs a sender, one that cannot bring a header along", () => {
  const SLIPWAY_SMTP_URL = "smtp://mail.example.com";
  for (const SLIPWAY_SMTP_FROM of [undefined, "nobody", "a@x.com\r\nBcc: b@x.com", "<a@x.com>, <b@x.com>"]) {
    expect(() => readConfiguration({ SLIPWAY_SMTP_URL, SLIPWAY_SMTP_FROM }, user)).toThrow(
      /^SLIPWAY_SMTP_FROM /,
    );
  }
  const from = "slipway@example.com";
  const read = readConfiguration({ SLIPWAY_SMTP_URL, SLIPWAY_SMTP_FROM: from }, user);
  expect(read.smtp).toEqual({ url: SLIPWAY_SMTP_URL, from });
});

test("a wrong secret is not repeated", () => {
  for (const name of ["GIT_WEBHOOK_SECRET", "DATABASE_URL", "SLIPWAY_SMTP_URL"]) {
    expect(() => readConfiguration({ [name]: "hunter2" }, user)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  }
});

test("cloud mode without a database refuses to start", () => {
  expect(() => readConfiguration({ SLIPWAY_MODE: "cloud" }, user)).toThrow(/^DATABASE_URL is missing/);
});

test("a misspelt variable is a warning that names it", () => {
  const { warnings } = readConfiguration({ SLIPWAY_DATADIR: "/x", OTHER: "y" }, user);
  expect(warnings).toEqual([expect.stringContaining("SLIPWAY_DATADIR")]);
});

test("an empty value counts as unset", () => {
  expect(readConfiguration({ PORT: "", SLIPWAY_MODE: " " }, user)).toMatchObject({
    port: 3000,
    mode: "self-hosted",
  });
});
