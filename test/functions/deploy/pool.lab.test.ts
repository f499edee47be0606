/** A project of one organization on the server of another, as the operator's pool carries it (decisions/0014). */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTargetGuard } from "../../../shared/adapters/target-guard.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { testPool } from "../../pool-rules.ts";
import { openPlatformBeside } from "../platform/beside-deploy.ts";
import type { Caller } from "../platform/platform.ts";
import { type DeploymentBody, type LabProject, type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp } from "./sample-apps.ts";

/** What a step of the build finds out about itself, told by the app. */
const told = {
  "package.json": JSON.stringify({
    ...{ name: "told", private: true },
    scripts: { build: "node build.js", start: "node dist/app.js" },
  }),
  "build.js": `const fs = require("node:fs");
const memory = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].find(fs.existsSync);
const addresses = Object.values(require("node:os").networkInterfaces()).flat().filter((one) => !one.internal && one.family === "IPv4");
const told = { memory: Number(fs.readFileSync(memory, "utf8")), addresses: addresses.map((one) => one.address) };
fs.mkdirSync("dist");
fs.writeFileSync("dist/app.js", "const told = " + JSON.stringify(told) + "; require('node:http').createServer((request, response) => response.end(JSON.stringify(told))).listen(process.env.PORT)");`,
};

/** Whether a connection from inside a container gets anywhere. */
const knock = `const [host, port] = process.argv.slice(1);
const socket = require("node:net").connect({ host, port: Number(port), timeout: 3000 });
const say = (word) => { console.log(word); process.exit(0); };
socket.on("connect", () => say("open")); socket.on("error", () => say("shut")); socket.on("timeout", () => say("shut"));`;

describeWithLab("a project on the pool", (lab) => {
  let world: LabWorld;
  let beside: { call: Caller; close: () => Promise<void> };
  let app: LabProject;
  let first: DeploymentBody;

  beforeAll(async () => {
    // The lab's git host is a private one, and known on the lab's network alone: the server says where it is.
    const [address = ""] = (
      await lab.server.read(["getent", "ahostsv4", new URL(lab.git.url("a", "b")).hostname])
    ).split(" ");
    const guard = createTargetGuard({ guarded: true, resolvers: [], exceptions: [address] });
    const gitHost = new URL(lab.git.url("a", "b")).hostname;
    const publicAddresses = (host: string) => guard.resolve(host === gitHost ? address : host);
    world = await openLabWorld(lab, { pool: { ...testPool, publicAddresses } });
    beside = await openPlatformBeside(world);
    app = await world.project(told, { resources: { cpus: 64, memoryMB: 64_000 } });
    first = await app.deploy();
  });
  afterAll(async () => {
    await beside.close();
    await world.close();
  });

  const containerOf = (deployment: DeploymentBody) => `slipway-${deployment.id.toLowerCase()}`;
  const inspect = async (kind: "container" | "network", name: string) =>
    JSON.parse(await lab.server.read(["docker", kind, "inspect", name]))[0];
  const networkOf = (project: LabProject) => `slipway-${project.id.toLowerCase()}`;

  const from = (host: string, at: string) =>
    lab.server.read(["docker", "exec", containerOf(first), "node", "-e", knock, host, at]);

  /** By the engine, as it was told to be. */
  async function expectConfined(deployment: DeploymentBody): Promise<void> {
    const { HostConfig: host, NetworkSettings: network } = await inspect(
      "container",
      containerOf(deployment),
    );
    expect(host).toMatchObject({
      ...{ NanoCpus: 5e8, Memory: 256 << 20, MemorySwap: 256 << 20, PidsLimit: 200 },
      ...{
        Privileged: false,
        Binds: null,
        CapAdd: null,
        PidMode: "",
        SecurityOpt: ["no-new-privileges"],
      },
      NetworkMode: networkOf(app),
    });
    expect(Object.keys(network.Networks)).toEqual([networkOf(app)]);
    const bound = Object.values(host.PortBindings).flat();
    expect(bound).toMatchObject([{ HostIp: "127.0.0.1" }]);
  }

  it("runs within the pool's limits, whatever it asks for, on a network of its own", async () => {
    expect(first).toMatchObject({ status: "ready", error: null });
    await expectConfined(first);
    const cgroup = await lab.server.read([
      "docker",
      "exec",
      containerOf(first),
      "sh",
      "-c",
      "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null || true",
    ]);
    expect(cgroup.split("\n")).toContain("200");
  });

  it("is built on its own network, within the same memory", async () => {
    const { memory, addresses } = JSON.parse((await app.get()).body);
    expect(memory).toBe(256 << 20);
    const { IPAM } = await inspect("network", networkOf(app));
    const subnet = String(IPAM.Config[0].Subnet).split(".").slice(0, 2).join(".");
    expect(addresses).toHaveLength(1);
    expect(addresses[0].startsWith(`${subnet}.`)).toBe(true);
  });

  it("reaches no neighbour: neither its container nor its port on the server", async () => {
    const neighbour = await world.project({ "index.html": "next door" });
    const there = await neighbour.deploy();
    expect(there).toMatchObject({ status: "ready", error: null });
    const { NetworkSettings, HostConfig } = await inspect("container", containerOf(there));
    const [port] = Object.keys(HostConfig.PortBindings).map((each) => each.split("/")[0] ?? "");
    const hostPort = Object.values<{ HostPort: string }[]>(HostConfig.PortBindings)[0]?.[0]?.HostPort ?? "";
    const address = NetworkSettings.Networks[networkOf(neighbour)].IPAddress;
    const { IPAM } = await inspect("network", networkOf(app));
    const gateway = IPAM.Config[0].Gateway;
    const ours = await lab.server.read(["hostname", "-I"]);
    // What the question is worth: the same app does reach itself.
    expect(await from("127.0.0.1", "3000")).toBe("open");
    expect(await from(address, port ?? "")).toBe("shut");
    for (const host of [
      gateway,
      "127.0.0.1",
      ...ours
        .trim()
        .split(" ")
        .filter((each) => !each.includes(":")),
    ]) {
      expect([host, await from(host, hostPort)]).toEqual([host, "shut"]);
    }
  });

  it("does not reach the server's SSH either behind the rules that operating.md gives, and is served on", async () => {
    const guide = readFileSync(new URL("../../../docs/operating.md", import.meta.url), "utf8");
    const rules = guide.split("\n").filter((line) => line.startsWith("iptables "));
    expect(rules).toHaveLength(3);
    const gateway = (await inspect("network", networkOf(app))).IPAM.Config[0].Gateway;
    const ssh = () => from(gateway, "22");
    expect(await ssh()).toBe("open");
    await lab.server.read(["sh", "-ec", rules.join("\n")]);
    try {
      expect(await ssh()).toBe("shut");
      expect((await app.get()).status).toBe(200);
    } finally {
      await lab.server.read(["sh", "-ec", rules.join("\n").replaceAll(" -I ", " -D ")]);
    }
  });

  it("is not fetched from where only the server's own network leads", async () => {
    const hostPort = Object.values<{ HostPort: string }[]>(
      (await inspect("container", containerOf(first))).HostConfig.PortBindings,
    )[0]?.[0]?.HostPort;
    for (const host of ["127.0.0.1", "localhost"]) {
      const cloneUrl = `http://${host}:${hostPort}/acme/shop.git`;
      const source = { kind: "git", provider: "git_host", owner: "acme", repo: "shop", cloneUrl } as const;
      const spy = await world.project({ "index.html": "x" }, { source });
      expect((await spy.deploy()).error).toMatchObject({ code: "git_host_refused" });
    }
  });

  it("cannot bring a Dockerfile, whose steps the server itself would take", async () => {
    const own = await world.project({ ...dockerApp("own"), "package.json": "{}" });
    expect(await own.deploy()).toMatchObject({ status: "failed", error: { code: "dockerfile_not_on_pool" } });
  });

  it("is rolled back within the limits, and removed as any other", async () => {
    await app.commit({ "build.js": `${told["build.js"]}\nconsole.log("again");` });
    const second = await app.deploy();
    expect(second).toMatchObject({ status: "ready", error: null });
    const { body } = await world.organization.call("POST", `/api/deployments/${first.id}/rollback`);
    const back = await app.settled(body.data.id);
    expect(back).toMatchObject({ status: "ready", mode: "image", error: null });
    await expectConfined(back);

    expect((await beside.call("GET", `/api/projects/${app.id}`)).body.data.serverId).toBeNull();
    const release = await beside.call("DELETE", `/api/projects/${app.id}?release=1`);
    expect([release.status, release.body.code]).toEqual([409, "pool_keeps_nothing"]);
    expect((await beside.call("DELETE", `/api/projects/${app.id}`)).status).toBe(200);
    const left = await lab.server.read([
      "docker",
      "ps",
      "--all",
      "--quiet",
      "--filter",
      `label=slipway.project=${app.id}`,
    ]);
    expect(left).toBe("");
    expect((await lab.server.exec(["docker", "network", "inspect", networkOf(app)])).code).not.toBe(0);
  });

  it("met no bug of ours", () => {
    expect(world.errors()).toEqual([]);
  });
});
