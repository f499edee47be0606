/** What holds for a deployment on a server of others, by itself; on a real one: pool.lab.test.ts. */
import { describe, expect, it } from "vitest";
import { explain } from "../../../functions/deploy/explain.ts";
import { DeployFailure } from "../../../functions/deploy/failure.ts";
import { buildArguments } from "../../../functions/deploy/pipeline/build.ts";
import { namesOf } from "../../../functions/deploy/pipeline/names.ts";
import { cappedBy, pinned, requireOurPlan, rulesFor, toldOf } from "../../../functions/deploy/pool-rules.ts";
import { hidePoolServer } from "../../../shared/db/hide-pool-server.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { OutgoingFailure } from "../../../shared/ports/outgoing.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { testPool } from "../../pool-rules.ts";
import { silentLog } from "../../silent-log.ts";

const plan = { title: "", context: ".", port: null, init: true } as const;

describe("the rules of the pool", () => {
  it("hold on a server of another organization, and on no other", () => {
    expect(rulesFor({ organizationId: "org_a" }, { organizationId: "org_b" }, testPool)).toBe(testPool);
    expect(rulesFor({ organizationId: "org_a" }, { organizationId: "org_a" }, testPool)).toBeNull();
  });

  it("let a project ask for less than its share, never for more, and leave an own server alone", () => {
    expect(cappedBy(testPool, {})).toEqual({ cpus: 0.5, memoryMB: 256, pids: 200 });
    expect(cappedBy(testPool, { cpus: 8, memoryMB: 8_000 })).toEqual({ cpus: 0.5, memoryMB: 256, pids: 200 });
    expect(cappedBy(testPool, { cpus: 0.1, memoryMB: 64 })).toEqual({ cpus: 0.1, memoryMB: 64, pids: 200 });
    expect(cappedBy(null, { cpus: 8 })).toEqual({ cpus: 8 });
  });

  it("build by the classic builder, on the project's network, within its share", () => {
    const ids = { organizationId: "org_b", projectId: "prj_B", deploymentId: "dep_B" };
    const request = {
      ...{ names: namesOf({ id: "dep_B", projectId: "prj_B" }), rootDirectory: null, buildkit: false, ids },
      plan: { ...plan, dockerfile: { kind: "generated" as const, text: "FROM x\n" } },
    };
    expect(buildArguments({ ...request, share: testPool }).slice(6)).toEqual([
      ...["0", "org_b", "prj_B", "dep_B", "slipway-prj_b", String(256 * 1024 * 1024), "50000"],
    ]);
    expect(buildArguments({ ...request, share: null }).slice(10)).toEqual(["", "", ""]);
  });

  it("refuse a Dockerfile of one's own, with the way out", () => {
    const own = { ...plan, dockerfile: { kind: "own" as const, path: "Dockerfile" } };
    expect(() => requireOurPlan(testPool, own)).toThrow(
      expect.objectContaining({
        code: "dockerfile_not_on_pool",
        hint: expect.stringContaining("buildStrategy"),
      }),
    );
    expect(() => requireOurPlan(null, own)).not.toThrow();
  });
});

describe("the source of a project on the pool", () => {
  const found = (...addresses: string[]) => ({ ...testPool, publicAddresses: async () => addresses });

  it("is fetched from the addresses that were checked, by a URL that means one thing", async () => {
    expect(await pinned(found("192.0.2.1", "2001:db8::1"), "https://git.test/a/b.git")).toEqual({
      url: "https://git.test/a/b.git",
      pin: "git.test:443:192.0.2.1,[2001:db8::1]",
    });
    expect((await pinned(found("192.0.2.1"), "http://git.test:8080/a")).pin).toBe("git.test:8080:192.0.2.1");
    expect((await pinned(found("192.0.2.1"), "ssh://git@git.test:2222/a/b.git")).pin).toBe("192.0.2.1");
    // git would take what stands before the @ for a user, and connect to what follows it.
    const { url, pin } = await pinned(found("192.0.2.1"), "https://git.test\\@127.0.0.1/a");
    expect([url, pin]).toEqual(["https://git.test/@127.0.0.1/a", "git.test:443:192.0.2.1"]);
  });

  it.each([
    "http://127.0.0.1:20001/a/b.git",
    "http://localhost/a/b.git",
    "http://2130706433/a/b.git",
    "http://0x7f.1/a/b.git",
    "http://[::ffff:127.0.0.1]/a/b.git",
    "http://169.254.169.254/latest/meta-data",
    "http://172.17.0.1/a/b.git",
    "ssh://git@127.0.0.1/a/b.git",
    "ssh://git@2130706433/a/b.git",
  ])("is not fetched from %s", async (url) => {
    await expect(pinned(testPool, url)).rejects.toMatchObject({ code: "git_host_refused" });
    expect(await pinned(null, url)).toEqual({ url, pin: "" });
  });

  it("that has no address is told so", async () => {
    const publicAddresses = async () => Promise.reject(new OutgoingFailure("unresolved", "No address."));
    const asked = pinned({ ...testPool, publicAddresses }, "https://git.test/a/b.git");
    await expect(asked).rejects.toMatchObject({ code: "git_unreachable", message: "No address." });
  });
});

it("tells nothing of a server that cannot be used", () => {
  for (const error of [
    new ShellFailure("authentication", "The server at 203.0.113.9:22 refused the credential."),
    new Refusal("upstream", "proxy_refused", "The server's proxy refused: neighbour.example.com"),
  ]) {
    const told = hidePoolServer(error);
    expect(told).toMatchObject({ kind: "upstream", code: "pool_server_unavailable", cause: error });
    expect((told as Error).message).not.toMatch(/203|neighbour/);
  }
  const own = new Refusal("conflict", "slug_taken", "Taken.");
  expect(hidePoolServer(own)).toBe(own);
});

it("keeps for the operator's log what it does not tell", () => {
  const logged: unknown[] = [];
  const log = { ...silentLog, info: (fields: object) => void logged.push(fields) };
  const cause = new ShellFailure("authentication", "The server at 203.0.113.9:22 refused the credential.");
  expect(explain(toldOf(testPool, cause), log).code).toBe("pool_server_unavailable");
  expect(logged).toEqual([{ err: cause, code: "pool_server_unavailable" }]);
  const lost = new DeployFailure("server_unreachable", "The server could not be reached for a minute.");
  lost.cause = cause;
  explain(toldOf(testPool, lost), log);
  expect(logged).toContainEqual({ err: cause, code: "server_unreachable" });
});

it.each(["server_unreachable", "server_not_ready", "disk_full", "image_not_allowed"])(
  "names a way out of %s that does not need the server",
  (code) => {
    const failure = new DeployFailure(code, "It failed.", "Free its disk, check its SSH port.", [
      "last line",
    ]);
    const told = toldOf(testPool, failure);
    expect(told).toMatchObject({ code, message: "It failed.", logTail: ["last line"] });
    expect((told as DeployFailure).hint).toContain("whoever runs this cloud");
    expect(toldOf(null, failure)).toBe(failure);
  },
);
