/**
 * The agent of ECS runs nowhere but there. What stands in for it keeps to what its documentation says of
 * `task-protection/v1/state`: PUT, JSON, `protection` or `failure` in the answer.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { protectTask } from "../../../shared/adapters/ecs-task-protection.ts";
import { manualClock } from "../../manual-clock.ts";
import { recordingLog } from "../../silent-log.ts";

const arn = "arn:aws:ecs:eu-central-1:111122223333:task/slipway/0123456789abcdef";

describe("a container of the cloud", () => {
  let agent: Server;
  let agentUri: string;
  let asked: { method: string; url: string; body: unknown }[];
  let refuses: "no" | "in a body of 200" | "with 500";
  let stopping: AbortController;
  let running: Promise<void>;
  let busy: boolean;
  const clock = manualClock();

  beforeEach(async () => {
    [asked, refuses, busy, stopping] = [[], "no", false, new AbortController()];
    agent = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => (text += String(chunk)));
      request.on("end", () => {
        const body = JSON.parse(text) as { ProtectionEnabled: boolean };
        asked.push({ method: request.method ?? "", url: request.url ?? "", body });
        const { ProtectionEnabled } = body;
        const reason = { Arn: arn, Detail: null, Reason: "TASK_NOT_VALID" };
        const kept = { ExpirationDate: null, ProtectionEnabled, TaskArn: arn };
        response.writeHead(refuses === "with 500" ? 500 : 200, { "content-type": "application/json" });
        response.end(JSON.stringify(refuses === "no" ? { protection: kept } : { failure: reason }));
      });
    });
    await new Promise<void>((resolve) => agent.listen(0, "127.0.0.1", resolve));
    agentUri = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/api/v4`;
  });
  afterEach(async () => {
    stopping.abort();
    await running;
    agent.closeAllConnections();
    agent.close();
  });

  const protect = (where: { agentUri: string | undefined } = { agentUri }) => {
    const log = recordingLog();
    const isBusy = () => busy;
    running = protectTask({ ...where, isBusy, clock, log, signal: stopping.signal });
    return log;
  };
  /** So many looks at whether there is work, each through with its question. */
  const look = async (ms = 5_000) => {
    await expect.poll(() => clock.sleepers()).toBe(1);
    await clock.advance(ms);
    await expect.poll(() => clock.sleepers()).toBe(1);
  };

  it("is protected while it holds a lease, and no longer", async () => {
    protect();
    await look();
    expect(asked).toEqual([]);
    busy = true;
    await look();
    busy = false;
    await look();
    await look();
    expect(asked).toEqual([
      {
        method: "PUT",
        url: "/api/v4/task-protection/v1/state",
        body: { ProtectionEnabled: true, ExpiresInMinutes: 30 },
      },
      { method: "PUT", url: "/api/v4/task-protection/v1/state", body: { ProtectionEnabled: false } },
    ]);
  });

  it("asks again before the protection of long work runs out", async () => {
    busy = true;
    protect();
    await look(9 * 60_000);
    expect(asked).toHaveLength(1);
    await look(2 * 60_000);
    expect(asked).toHaveLength(2);
  });

  it.each(["in a body of 200", "with 500"] as const)(
    "asks again what was refused %s, and says so",
    async (how) => {
      busy = true;
      refuses = how;
      const log = protect();
      await look();
      expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn" }));
      expect(asked.length).toBeGreaterThan(1);
      refuses = "no";
      await look();
      const { length } = asked;
      await look();
      expect(asked).toHaveLength(length);
    },
  );

  it("asks nobody outside of ECS", async () => {
    busy = true;
    protect({ agentUri: undefined });
    await running;
    expect(asked).toEqual([]);
  });
});
