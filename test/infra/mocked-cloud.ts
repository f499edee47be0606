/** Runs sst.config.ts on Pulumi's mocks, with SST's real components: what would be made, without an account. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Resource {
  type: string;
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: of hundreds of types; looked into by the assertions
  inputs: Record<string, any>;
}

const secrets = [
  ...["DatabaseUrl", "EdgeDatabaseUrl", "IdentityKey", "IdentityPublicKeys", "GitWebhookSecret"],
  ...[
    "SealWebhook",
    "SealIdempotency",
    "SealServer",
    "SealEnv",
    "SealGit",
    "SealRegistry",
    "SealCloud",
    "SealNotify",
  ],
];

export async function mockCloud(stage: string): Promise<Resource[]> {
  const platform = new URL("../../.sst/platform", import.meta.url).pathname;
  const found: Resource[] = [];
  const out = await mkdtemp(join(tmpdir(), "slipway-infra-"));
  await writeFile(join(out, "worker.js"), "export default {}");
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ result: { handler: "worker.js", out, errors: [], sourcemaps: [] } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env["SST_SERVER"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env["CLOUDFLARE_DEFAULT_ACCOUNT_ID"] = "account";
  process.env["SLIPWAY_DOMAIN"] = "slipway.example.com";
  for (const name of secrets) process.env[`SST_SECRET_${name}`] = `secret of ${name}`;

  const pulumi = await import(`${platform}/node_modules/@pulumi/pulumi/index.js`);
  await pulumi.runtime.setMocks(mocksInto(found), "slipway", stage);
  await setGlobals(pulumi, platform, stage);
  const { default: config } = (await import("../../sst.config.ts")) as unknown as {
    default: { run(): Promise<Record<string, unknown>> };
  };
  await config.run();
  await settle(found);
  server.close();
  await rm(out, { recursive: true });
  return found;
}

function mocksInto(found: Resource[]) {
  return {
    newResource({ type, name, inputs }: Resource) {
      found.push({ type, name, inputs: withoutWrappings(inputs) });
      const state = {
        ...inputs,
        arn: `arn:${name}`,
        url: `https://sqs/${name}`,
        name: inputs["name"] ?? name,
        domainValidationOptions: [
          { domainName: "d", resourceRecordType: "CNAME", resourceRecordName: "n", resourceRecordValue: "v" },
        ],
      };
      return { id: `${name}-id`, state };
    },
    call({ token, inputs }: { token: string; inputs: Record<string, unknown> }) {
      if (token.includes("getPolicyDocument")) {
        return { json: JSON.stringify(inputs), statements: inputs["statements"] };
      }
      if (token.includes("getAvailabilityZones")) return { names: ["a", "b"], zoneIds: ["a", "b"] };
      return {
        ...inputs,
        id: "id",
        name: "eu-central-1",
        region: "eu-central-1",
        accountId: "1",
        partition: "aws",
      };
    },
  };
}

/** Pulumi hands a secret over as an object with this key (its wire protocol) around the value. */
function withoutWrappings(inputs: Record<string, unknown>): Record<string, unknown> {
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== "object" || value === null) return value;
    if ("4dabf18193072939515e22adb298388d" in value && "value" in value) return plain(value.value);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  };
  return plain(inputs) as Record<string, unknown>;
}

async function setGlobals(pulumi: Record<string, unknown>, platform: string, stage: string): Promise<void> {
  const global = globalThis as unknown as Record<string, unknown>;
  const at = (library: string) => import(`${platform}/node_modules/@pulumi/${library}/index.js`);
  Object.assign(global, {
    $config: (config: unknown) => config,
    $app: { name: "slipway", stage, providers: {}, protect: false, removal: "remove" },
    $dev: false,
    $cli: {
      command: "deploy",
      rpc: "",
      paths: {
        home: "/tmp",
        root: process.cwd(),
        work: "/tmp/slipway-sst",
        platform: `${process.cwd()}/.sst/platform`,
      },
      state: { version: {} },
      env: {},
    },
    $util: pulumi,
    $output: pulumi["output"],
    $resolve: pulumi["all"],
    $interpolate: pulumi["interpolate"],
    $concat: pulumi["concat"],
    $jsonParse: pulumi["jsonParse"],
    $jsonStringify: pulumi["jsonStringify"],
    $asset: (path: string) => path,
    aws: (await at("aws")).default ?? (await at("aws")),
    cloudflare: await at("cloudflare"),
  });
  global["sst"] = await import(`${platform}/src/components/index.ts`);
}

/** Resources are made as outputs resolve: until none comes any more. */
async function settle(found: readonly Resource[]): Promise<void> {
  for (let quiet = 0, last = -1; quiet < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    quiet = found.length === last ? quiet + 1 : 0;
    last = found.length;
  }
}
