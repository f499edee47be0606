/** Runs sst.config.ts on Pulumi's mocks, with SST's real components: what would be made, without an account. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Resource {
  type: string;
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: of hundreds of types; looked into by the assertions
  inputs: Record<string, any>;
}

const secrets = [
  ...["DatabaseUrl", "EdgeDatabaseUrl", "IdentityKey", "IdentityPublicKeys", "GitWebhookSecret"],
  ...["SealWebhook", "SealIdempotency", "SealServer", "SealEnv", "SealGit"],
];

export async function mockCloud(stage: string): Promise<Resource[]> {
  const platform = "../../.sst/platform";
  const found: Resource[] = [];
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ result: { handler: "worker.js", out: "/tmp", errors: [], sourcemaps: [] } }));
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
  await pulumi.runtime.waitForRPCs?.();
  await settle(found);
  server.close();
  return found;
}

function mocksInto(found: Resource[]) {
  return {
    newResource({ type, name, inputs }: Resource) {
      found.push({ type, name, inputs });
      const state = { ...inputs, arn: `arn:${name}`, url: `https://sqs/${name}`, name: inputs["name"] ?? name };
      return { id: `${name}-id`, state };
    },
    call({ token, inputs }: { token: string; inputs: Record<string, unknown> }) {
      if (token.includes("getPolicyDocument")) {
        return { json: JSON.stringify(inputs), statements: inputs["statements"] };
      }
      if (token.includes("getAvailabilityZones")) return { names: ["a", "b"], zoneIds: ["a", "b"] };
      return { ...inputs, id: "id", name: "eu-central-1", region: "eu-central-1", accountId: "1", partition: "aws" };
    },
  };
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
      paths: { home: "/tmp", root: process.cwd(), work: "/tmp/slipway-sst", platform: `${process.cwd()}/.sst/platform` },
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
