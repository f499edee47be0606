/** Servers as they are reached for real: probe, check and what each of them says when it cannot. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { findFreePort } from "../../lab/free-port.ts";
import {
  addProject,
  addServer,
  hostKey,
  type Organization,
  openTestPlatform,
  type TestPlatform,
} from "./platform.ts";

describeWithLab("a managed server", ({ server }) => {
  let shell: Shell;
  let platform: TestPlatform;
  let acme: Organization;
  beforeAll(async () => {
    shell = createSsh2Shell();
    platform = await openTestPlatform({ shell });
  });
  afterAll(async () => {
    await shell.close();
    await platform.close();
  });
  beforeEach(async () => {
    acme = await platform.organization();
  });

  const { host, port } = server;
  const key = { kind: "key", privateKey: server.privateKey };
  const check = async (change: Record<string, unknown>) => {
    const id = await addServer(acme.call, { host, port, hostKey: server.hostKey, auth: key, ...change });
    const { status, body } = await acme.call("POST", `/api/servers/${id}/check`);
    expect(status).toBe(200);
    return body.data;
  };

  it("presents its host key without being offered a credential", async () => {
    const { body } = await acme.call("POST", "/api/servers/probe", { host, port });
    const fingerprint = await server.read(["ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub"]);
    expect(body.data).toMatchObject({ hostKey: server.hostKey, type: "ssh-ed25519" });
    expect(fingerprint).toContain(body.data.fingerprint);
  });

  it("says what is on it", async () => {
    const found = await check({});
    expect(found).toMatchObject({ ok: true, systemd: true, sudo: true, engine: { name: "docker" } });
    expect(found.os).toMatch(/^Debian GNU\/Linux 12/);
    expect(found.architecture).toBe(await server.read(["uname", "-m"]));
    expect(found.proxy.name).toBe("caddy");
    for (const size of ["diskFreeMB", "diskTotalMB", "memoryTotalMB", "memoryAvailableMB"]) {
      expect(found[size], size).toBeGreaterThan(10);
    }
    expect(Math.abs(found.clockSkewMs)).toBeLessThan(1_000);
  });

  it("is reached by password and as a user with sudo", async () => {
    const auth = { kind: "password", password: server.password };
    expect(await check({ user: "admin", auth })).toMatchObject({
      ok: true,
      sudo: true,
      engine: { name: "docker" },
    });
  });

  it("says that a user without sudo is not enough", async () => {
    expect(await check({ user: "plain" })).toMatchObject({
      ok: false,
      code: "sudo",
      systemd: true,
      ready: false,
    });
  });

  it("says how full its disk is, in bytes, with the images of each project", async () => {
    const id = await addServer(acme.call, { host, port, hostKey: server.hostKey, auth: key });
    const projectId = await addProject(acme.call, id);
    const image = `disk-${projectId.toLowerCase()}`;
    const dockerfile = "FROM node:24-bookworm-slim\nRUN head -c 5000000 /dev/urandom >/five\n";
    const label = `slipway.project=${projectId}`;
    const built = await server.exec(["docker", "build", "-q", "-t", image, "--label", label, "-"], {
      input: dockerfile,
      deadlineMs: 60_000,
    });
    expect(built.code, built.stderr).toBe(0);
    try {
      const { status, body } = await acme.call("GET", `/api/servers/${id}/disk`);
      expect(status).toBe(200);
      const [, total] =
        (await server.read(["df", "-PB1", "/var/lib/docker"])).split("\n")[1]?.split(/\s+/) ?? [];
      expect(body.data.totalBytes).toBe(Number(total));
      expect(body.data.freeBytes).toBeLessThan(body.data.totalBytes);
      expect(body.data.imageBytes).toBeGreaterThan(50_000_000);
      for (const each of ["containerBytes", "volumeBytes", "buildCacheBytes"]) {
        expect(body.data[each], each).toBeGreaterThanOrEqual(0);
      }
      expect(body.data.projects).toMatchObject([{ projectId, name: "Shop", images: 1 }]);
      expect(body.data.projects[0].imageBytes).toBeGreaterThan(4_900_000);
      expect(body.data.projects[0].imageBytes).toBeLessThan(6_000_000);
    } finally {
      await server.exec(["docker", "rmi", "-f", image]);
    }
  });

  it("is trusted with another host key by its credential given again", async () => {
    const id = await addServer(acme.call, { host, port, hostKey: hostKey(), auth: key });
    const path = `/api/servers/${id}`;
    expect((await acme.call("POST", `${path}/check`)).body.data.code).toBe("host_key_changed");
    expect((await acme.call("GET", `${path}/disk`)).body.code).toBe("host_key_changed");
    const trusted = await acme.call("PUT", `${path}/host-key`, { hostKey: server.hostKey, auth: key });
    expect(trusted.status).toBe(200);
    expect((await acme.call("POST", `${path}/check`)).body.data.ok).toBe(true);
  });

  it("is refused before any credential when its host key is another one", async () => {
    const before = await server.read(["sh", "-c", "journalctl -u ssh | grep -c Accepted || true"]);
    expect(await check({ hostKey: hostKey() })).toMatchObject({ ok: false, code: "host_key_changed" });
    expect(await server.read(["sh", "-c", "journalctl -u ssh | grep -c Accepted || true"])).toBe(before);
  });

  it("says when the credential does not hold, and when nothing answers", async () => {
    const wrong = { kind: "password", password: "wrong" };
    expect(await check({ user: "admin", auth: wrong })).toMatchObject({ ok: false, code: "authentication" });
    expect(await check({ port: await findFreePort() })).toMatchObject({ ok: false, code: "unreachable" });
  });
});
