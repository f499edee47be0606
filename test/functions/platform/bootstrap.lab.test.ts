/** From a bare Debian to a server that serves routes, and what must survive there. One server, in the order of its life. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createBootstrapKind } from "../../../functions/platform/bootstrap/kind.ts";
import { createRemovalKind } from "../../../functions/platform/removal/kind.ts";
import { monotonicClock, wallClock } from "../../../shared/adapters/clocks.ts";
import { createGitHostApi } from "../../../shared/adapters/git-host-api-http.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { createRunner, type Runner } from "../../../shared/operations/runner.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import { applyProxy } from "../../../shared/proxy/apply.ts";
import { proxyConfiguration } from "../../../shared/proxy/configuration.ts";
import { sendConfiguration } from "../../../shared/proxy/send-configuration.ts";
import { switchRoute } from "../../../shared/proxy/switch-route.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { LabServer } from "../../lab/server.ts";
import { testOutgoing } from "../../outgoing.ts";
import { silentLog } from "../../silent-log.ts";
import {
  addDeployment,
  addProject,
  addServer,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

interface Event {
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are looked into by the assertions
  data: any;
}

describeWithLab("bootstrapping a bare server", ({ startServer }) => {
  let shell: Shell;
  let platform: TestPlatform;
  let acme: Organization;
  let runner: Runner;
  let server: LabServer;
  let serverId: string;
  let projectId: string;
  beforeAll(async () => {
    server = await startServer({ kind: "bare", name: "bootstrap", images: [] });
    shell = createSsh2Shell();
    platform = await openTestPlatform({ shell });
    acme = await platform.organization();
    runner = newRunner();
    serverId = await add();
  });
  afterAll(async () => {
    await runner?.stop();
    await shell?.close();
    await platform?.close();
    await server?.remove();
  });

  const newRunner = () => {
    const { sealer } = platform;
    const parts = { ...platform.proxy, sealer, clock: wallClock, log: silentLog };
    const gitHostApi = createGitHostApi(testOutgoing());
    const kinds = [createBootstrapKind(parts), createRemovalKind({ ...parts, gitHostApi })];
    const { db, listener } = platform;
    const limits = { owner: "test", concurrency: 2, clock: monotonicClock, log: silentLog };
    const made = createRunner({ db, listener, kinds, ...limits });
    made.start();
    return made;
  };
  const add = () => {
    const { host, port, hostKey, privateKey } = server;
    return addServer(acme.call, { host, port, hostKey, auth: { kind: "key", privateKey } });
  };
  const bootstrap = async (id = serverId): Promise<Event[]> => {
    const { status, body } = await acme.call("POST", `/api/servers/${id}/bootstrap`);
    expect(status).toBe(200);
    return String(body)
      .split("\n\n")
      .flatMap((frame) => {
        const [, event] = /^event: (.*)$/m.exec(frame) ?? [];
        const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
        return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) }];
      });
  };
  const lines = (events: Event[]) =>
    events.filter(({ event }) => event === "log").map(({ data }) => data.line);
  const visit = async (hostname: string) => {
    const url = `http://127.0.0.1:${server.httpPort}/`;
    // fetch does not let the Host header be chosen.
    const result = await server.exec(["curl", "-s", "-i", "-H", `Host: ${hostname}`, "http://127.0.0.1/"]);
    return { fromOutside: (await fetch(url)).status, text: result.stdout };
  };

  it("says politely who has port 80, before anything is touched", async () => {
    const listen =
      "use IO::Socket::INET; IO::Socket::INET->new(LocalPort => 80, Listen => 1, ReuseAddr => 1); sleep";
    await server.read([
      "systemd-run",
      "--unit=squatter",
      "perl",
      "-e",
      listen.replace("IO::Socket::INET->new", "my $s = IO::Socket::INET->new"),
    ]);
    await expect
      .poll(() => server.exec(["sh", "-c", "grep -q ':0050 .* 0A ' /proc/net/tcp"]).then(({ code }) => code))
      .toBe(0);
    const last = (await bootstrap()).at(-1);
    expect(last).toMatchObject({
      event: "complete",
      data: { status: "failed", error: { code: "port_taken" } },
    });
    expect(last?.data.error.message).toMatch(/^Port 80 is taken by perl \(process \d+, squatter\.service\)/);
    expect((await server.exec(["which", "docker"])).code).not.toBe(0);
    await server.read(["systemctl", "stop", "squatter"]);
  });

  it("installs what is missing, for two callers as one run, also when its owner changes on the way", async () => {
    const following = Promise.all([bootstrap(), bootstrap()]);
    const unpacked = () => server.exec(["sh", "-c", "ls /usr/bin/git"]).then(({ code }) => code);
    await expect.poll(unpacked, { timeout: 120_000 }).toBe(0);
    await runner.stop();
    runner = newRunner();
    const [first, second] = await following;
    expect(first.at(-1)).toEqual({ event: "complete", data: { status: "ready", error: null } });
    expect(second).toEqual(first);
    const phases = first.filter(({ event, data }) => event === "phase" && data.state === "done");
    expect(phases.map(({ data }) => data.phase)).toEqual(["prepare", "install", "engine", "proxy", "check"]);
    const setUps = lines(first).filter((line) => line.startsWith("Setting up "));
    expect(setUps.some((line) => line.includes("caddy"))).toBe(true);
    expect(new Set(setUps).size).toBe(setUps.length);
    const { body } = await acme.call("POST", `/api/servers/${serverId}/check`);
    expect(body.data).toMatchObject({
      ok: true,
      ready: true,
      engine: { name: "docker" },
      proxy: { name: "caddy" },
    });
    expect((await acme.call("GET", `/api/servers/${serverId}`)).body.data.bootstrappedAt).not.toBeNull();
    expect(await server.read(["sh", "-c", "ls /var/lib/slipway/operations"])).toBe("");
    const units = await server.exec(["systemctl", "is-active", "caddy.service", "slipway-proxy.service"]);
    expect(units.stdout.trim().split("\n")).toEqual(["inactive", "active"]);
  }, 300_000);

  it("does nothing the second time", async () => {
    const started = Date.now();
    const events = await bootstrap();
    expect(events.at(-1)?.data).toEqual({ status: "ready", error: null });
    expect(lines(events)).toContain("Nothing to install");
    expect(Date.now() - started).toBeLessThan(20_000);
  });

  it("serves routes at once, and only what the database says", async () => {
    await server.exec(["sh", "-c", `cat >/etc/systemd/system/app.service`], {
      input:
        "[Service]\nExecStart=/usr/bin/caddy respond --listen 127.0.0.1:20001 --body hello\n[Install]\nWantedBy=multi-user.target\n",
    });
    await server.read(["systemctl", "enable", "--now", "-q", "app.service"]);
    projectId = await addProject(acme.call, serverId, { name: "Shop" });
    await addDeployment(platform.db, projectId, 20_001);
    expect(await applyProxy(platform.proxy, { serverId })).toMatchObject({ applied: true });
    await expect.poll(async () => (await visit("shop.apps.test")).text).toContain("hello");
    expect((await visit("shop.apps.test")).fromOutside).toBe(404);
    const { body } = await acme.call("POST", `/api/projects/${projectId}/domains`, {
      hostname: "www.shop.test",
    });
    expect((await visit("www.shop.test")).text).toContain("hello");
    await acme.call("DELETE", `/api/projects/${projectId}/domains/${body.data.id}`);
    expect((await visit("www.shop.test")).text).toContain("404 Not Found");
  });

  it("serves names with certificates only over https, and sends http there", async () => {
    const hostname = "www.shop.example.com";
    const { body } = await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname });
    expect((await visit(hostname)).text).toContain(`Location: https://${hostname}/`);
    await acme.call("DELETE", `/api/projects/${projectId}/domains/${body.data.id}`);
    const shown = await server.exec(["caddy", "validate", "--config", "/var/lib/slipway/caddy/caddy.json"]);
    expect([shown.code, shown.stderr + shown.stdout]).toEqual([
      0,
      expect.stringContaining("Valid configuration"),
    ]);
  });

  it("refuses an older configuration, and one from another entry for this machine", async () => {
    const [row] = await platform.db.select().from(servers).where(eq(servers.id, serverId));
    if (row === undefined) throw new Error("no such server");
    const configuration = proxyConfiguration([]);
    const older = { server: row, revision: row.proxyRevision - 1, configuration, routes: [] };
    expect(await sendConfiguration(platform.proxy, older, {})).toBe(row.proxyRevision);
    const other = await add();
    await expect(applyProxy(platform.proxy, { serverId: other })).rejects.toMatchObject({
      code: "proxy_foreign",
    });
    expect((await visit("shop.apps.test")).text).toContain("hello");
  });

  /** Requests, one connection each and many on one, until /run/load is gone; their statuses. */
  const load = `for keep in "" "Connection: close"; do
    for worker in 1 2 3 4; do
      ( n=0; while [ -e /run/load ]; do
          curl -s -m 5 -o /dev/null -w '%{http_code}\\n' -H 'Host: shop.apps.test' -H "$keep" 'http://127.0.0.1/[1-40]' || echo lost
        done ) &
    done
    done; wait`;

  it("loses no request while routes change, with connections kept and with new ones", async () => {
    await server.read(["touch", "/run/load"]);
    const loading = server.read(["sh", "-c", load], { deadlineMs: 60_000 });
    for (let change = 0; change < 6; change++) {
      const { body } = await acme.call("POST", `/api/projects/${projectId}/domains`, {
        hostname: "load.test",
      });
      await acme.call("DELETE", `/api/projects/${projectId}/domains/${body.data.id}`);
    }
    await server.read(["rm", "/run/load"]);
    const answers = (await loading).split("\n");
    expect(answers.length).toBeGreaterThan(500);
    expect(answers.filter((answer) => answer !== "200")).toEqual([]);
  });

  it("moves a project between containers without a load, without loss, whatever the clock says", async () => {
    const unit = "[Service]\nExecStart=/usr/bin/caddy respond --listen 127.0.0.1:20002 --body other\n";
    await server.exec(["sh", "-c", "cat >/run/systemd/system/other.service"], { input: unit });
    await server.read(["systemctl", "start", "other.service"]);
    await expect.poll(() => server.read(["curl", "-s", "http://127.0.0.1:20002"])).toContain("other");
    const [active] = await platform.db.select().from(projects).where(eq(projects.id, projectId));
    const other = await addDeployment(platform.db, projectId, 20_002, { active: false });
    const ports = `/var/lib/slipway/caddy/ports/${projectId}`;
    const loads = () =>
      server.read(["sh", "-c", "journalctl -u slipway-proxy | grep -c 'stopped previous server' || true"]);
    const loadsBefore = await loads();
    await server.read(["touch", "/run/load"]);
    const loading = server.read(["sh", "-c", load], { deadlineMs: 60_000 });
    for (let change = 0; change < 10; change++) {
      const [deploymentId, says] =
        change % 2 === 0 ? [other, "other"] : [active?.activeDeploymentId ?? null, "hello"];
      await switchRoute(platform.proxy, { serverId, projectId, deploymentId });
      expect((await visit("shop.apps.test")).text).toContain(says);
      // As after a clock that was put back: what was served last is of the future.
      await server.read(["sh", "-c", `touch -d '+1 hour' "$(ls -dt ${ports}/* | head -n 1)"`]);
    }
    await server.read(["rm", "/run/load"]);
    const answers = (await loading).split("\n");
    expect(answers.length).toBeGreaterThan(500);
    expect(answers.filter((answer) => answer !== "200")).toEqual([]);
    expect(await loads()).toBe(loadsBefore);
    await server.read(["systemctl", "stop", "other.service"]);
  });

  it("serves the last configuration after a reboot", async () => {
    await server.reboot();
    await expect
      .poll(async () => (await visit("shop.apps.test")).text, { timeout: 30_000 })
      .toContain("hello");
    const { body } = await acme.call("POST", `/api/servers/${serverId}/check`);
    expect(body.data).toMatchObject({ ok: true, ready: true });
  });

  it("heals a proxy that was stopped, with a configuration that is broken", async () => {
    await server.read([
      "sh",
      "-c",
      "systemctl stop slipway-proxy; echo broken >/var/lib/slipway/caddy/caddy.json",
    ]);
    const down = await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname: "x.shop.test" });
    expect([down.status, down.body.code]).toEqual([502, "proxy_down"]);
    expect((await bootstrap()).at(-1)?.data.status).toBe("ready");
    expect((await visit("shop.apps.test")).text).toContain("hello");
  });

  it("removes from the server what carries the project's label, and nothing else", async () => {
    const image = 'FROM scratch\nCOPY sleep /sleep\nENTRYPOINT ["/sleep"]\n';
    const script = `set -e; mkdir -p /root/i && cd /root/i && cat >Dockerfile
      cp /usr/bin/docker-init sleep 2>/dev/null || cp /usr/bin/tini-static sleep
      docker build -q --label slipway.project=${projectId} -t ours . >/dev/null
      docker network create --label slipway.project=${projectId} ours >/dev/null
      docker create --label slipway.project=${projectId} --network ours -v kept:/data --name ours ours x >/dev/null
      docker create --label slipway.project=other --name theirs ours x >/dev/null`;
    const made = await server.exec(["sh", "-c", script], { input: image });
    expect(made.stderr).toBe("");
    expect((await acme.call("DELETE", `/api/projects/${projectId}`)).status).toBe(200);
    expect(await server.read(["docker", "ps", "-a", "--format", "{{.Names}}"])).toBe("theirs");
    expect(await server.read(["docker", "network", "ls", "-q", "--filter", "label=slipway.project"])).toBe(
      "",
    );
    expect(await server.read(["docker", "volume", "ls", "-q"])).toBe("kept");
    expect((await visit("shop.apps.test")).text).toContain("404 Not Found");
  });
});
