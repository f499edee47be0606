/** The lab itself: what other tests rely on. */
import { expect, it } from "vitest";
import { listRunThings, removeRun } from "./clean.ts";
import { describeWithLab } from "./describe-with-lab.ts";
import { runCommand } from "./docker.ts";
import { openLab } from "./lab.ts";
import { readBanner } from "./ssh-banner.ts";

describeWithLab("a managed server of the lab", (lab) => {
  it("boots systemd with no failed unit", async () => {
    expect(await lab.server.read(["systemctl", "is-system-running"])).toBe("running");
  });

  it("answers on its SSH port with the host key that was read inside it", async () => {
    const scan = await runCommand("ssh-keyscan", [
      "-t",
      "ed25519",
      "-p",
      String(lab.server.port),
      "127.0.0.1",
    ]);
    expect(scan.stdout.trim()).toBe(`[127.0.0.1]:${lab.server.port} ${lab.server.hostKey}`);
  });

  it("runs the product images in its own engine without pulling them", async () => {
    const version = await lab.server.read([
      "docker",
      "run",
      "--rm",
      "node:24-bookworm-slim",
      "node",
      "--version",
    ]);
    expect(version).toMatch(/^v24\./);
    const caddy = await lab.server.read(["docker", "run", "--rm", "caddy:2", "caddy", "version"]);
    expect(caddy).toMatch(/^2\./);
  });

  it("builds an image that installs from npm and apt inside", async () => {
    const dockerfile = [
      "FROM node:24-bookworm-slim",
      "RUN npm install --prefix /app ms",
      "RUN apt-get update -q && apt-get install -q -y --no-install-recommends ca-certificates",
      'RUN node -e "fetch(process.argv[1]).then(() => 0)" "$(npm config get registry)" && test -d /app/node_modules/ms',
    ].join("\n");
    const build = ["docker", "build", "-q", "--no-cache", "-t", "lab-build:1", "-"];
    const env = { DOCKER_BUILDKIT: "1" };
    const built = await lab.server.exec(build, { input: dockerfile, env, deadlineMs: 150_000 });
    expect(built.stderr).toBe("");
    expect(built.code).toBe(0);
    await lab.server.read(["docker", "rmi", "-f", "lab-build:1"]);
  });

  it("serves port 80 on this machine's 127.0.0.1", async () => {
    const page = await fetch(`http://127.0.0.1:${lab.server.httpPort}/`, {
      signal: AbortSignal.timeout(5_000),
    });
    expect(page.headers.get("server")).toBe("Caddy");
    await page.body?.cancel();
  });
});

describeWithLab("a server of one's own", (lab) => {
  // Each waits for the boot of a server of its own.
  it.concurrent("keeps disk, host key and ports over a reboot, and gets a new boot", async () => {
    const server = await lab.startServer();
    const boot = () => server.read(["stat", "-c", "%Y", "/proc/1"]);
    const before = await boot();
    await server.read(["sh", "-c", "echo kept > /root/note"]);
    await server.reboot();
    expect(await boot()).not.toBe(before);
    expect(await server.read(["cat", "/root/note"])).toBe("kept");
    const scan = await runCommand("ssh-keyscan", ["-t", "ed25519", "-p", String(server.port), "127.0.0.1"]);
    expect(scan.stdout).toContain(server.hostKey);
    await server.remove();
  });

  it.concurrent("comes back after a power failure with its engine in order", async () => {
    const server = await lab.startServer();
    await server.read(["docker", "run", "-d", "--restart", "always", "--name", "site", "caddy:2"]);
    await server.powerOff();
    expect(await readBanner(server.port, 2_000)).toBeUndefined();
    await server.start();
    expect(await server.read(["docker", "ps", "--format", "{{.Names}}"])).toBe("site");
    await server.remove();
  });

  it.concurrent("may be bare: sshd and systemd, no engine", async () => {
    const server = await lab.startServer({ kind: "bare" });
    expect((await server.exec(["which", "docker", "git", "curl", "caddy"])).stdout).toBe("");
    await server.read(["apt-get", "update", "-q"]);
    await server.remove();
  });

  it("is silent while its cable is pulled, and answers again after", async () => {
    const server = await lab.startServer({ images: [] });
    const answers = async () => (await readBanner(server.port, 2_000)) !== undefined;
    await server.cut();
    expect(await answers()).toBe(false);
    await server.mend();
    expect(await answers()).toBe(true);
    await server.read(["getent", "hosts", lab.git.alias]);
    await server.pause();
    expect(await answers()).toBe(false);
    await server.unpause();
    expect(await answers()).toBe(true);
    await server.remove();
  });
});

describeWithLab("the git host of the lab", (lab) => {
  it("gives a server any commit by its SHA", async () => {
    await lab.git.createRepository("lab-test", "by-sha");
    const first = await lab.git.commit("lab-test", "by-sha", { files: { "a.txt": "one", "b.txt": "gone" } });
    const second = await lab.git.commit("lab-test", "by-sha", { files: { "a.txt": "two", "b.txt": null } });
    expect(await lab.git.head("lab-test", "by-sha")).toBe(second);
    const script = `set -e; dir=$(mktemp -d); cd "$dir"; git init -q .
git fetch -q --depth 1 "$1" "$2"; git checkout -q FETCH_HEAD; cat a.txt; ls; rm -rf "$dir"`;
    const show = (sha: string) =>
      lab.server.read(["sh", "-c", script, "show", lab.git.url("lab-test", "by-sha"), sha]);
    expect(await show(first)).toBe("onea.txt\nb.txt");
    expect(await show(second)).toBe("twoa.txt");
  });

  it("asks for the token of a private repository", async () => {
    await lab.git.createRepository("private", "lab-test");
    await lab.git.commit("private", "lab-test", { files: { "a.txt": "secret" } });
    const address = new URL(lab.git.url("private", "lab-test"));
    const list = () =>
      lab.server.exec(["git", "ls-remote", address.href], { env: { GIT_TERMINAL_PROMPT: "0" } });
    expect((await list()).code).toBe(128);
    address.username = "x-access-token";
    address.password = lab.git.token;
    expect((await list()).stdout).toContain("refs/heads/main");
  });

  it("can be frozen and switched off, and comes back", async () => {
    const own = await openLab();
    try {
      const git = await own.git();
      await git.createRepository("acme", "web");
      const ask = () => fetch(`${git.localUrl("acme", "web")}/HEAD`, { signal: AbortSignal.timeout(1_500) });
      await git.hang();
      await expect(ask()).rejects.toMatchObject({ name: "TimeoutError" });
      await git.resume();
      await git.stop();
      await expect(ask()).rejects.toMatchObject({ name: "TypeError" });
      await git.start();
      expect((await ask()).status).toBe(200);
    } finally {
      await own.close();
    }
  });

  it("can be silent about one repository alone", async () => {
    await lab.git.createRepository("lab-test", "silent");
    await lab.git.createRepository("lab-test", "talking");
    const authorization = `Basic ${Buffer.from(`git:${lab.git.token}`).toString("base64")}`;
    const ask = async (repository: string) => {
      const url = `${lab.git.localUrl("lab-test", repository)}/info/refs?service=git-upload-pack`;
      const answer = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(1_500) });
      await answer.body?.cancel();
      return answer.status;
    };
    const speak = await lab.git.silence("lab-test", "silent");
    await expect(ask("silent")).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await ask("talking")).toBe(200);
    await speak();
    expect(await ask("silent")).toBe(200);
  });

  it("can be asked from this machine too, and branches start where they are told", async () => {
    await lab.git.createRepository("lab-test", "branches");
    const main = await lab.git.commit("lab-test", "branches", { files: { "a.txt": "one" } });
    await lab.git.commit("lab-test", "branches", { branch: "next", from: main, files: { "c.txt": "three" } });
    const refs = await fetch(
      `${lab.git.localUrl("lab-test", "branches")}/info/refs?service=git-upload-pack`,
      { signal: AbortSignal.timeout(5_000) },
    );
    expect(await refs.text()).toContain("refs/heads/next");
    expect(await lab.git.git("lab-test", "branches", ["ls-tree", "--name-only", "next"])).toBe(
      "a.txt\nc.txt",
    );
  });
});

describeWithLab("a closed lab", () => {
  it("leaves no container, volume or network behind", async () => {
    const lab = await openLab();
    const ofRun = async () => (await listRunThings()).filter((thing) => thing.runId === lab.runId);
    try {
      await lab.server();
      expect((await ofRun()).map((thing) => thing.kind).sort()).toEqual(["container", "network", "volume"]);
      await lab.close();
      expect(await ofRun()).toEqual([]);
    } finally {
      await removeRun(lab.runId);
    }
  });
});
