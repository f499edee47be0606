/** Detached units on real servers, under systemd and without it. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { Shell, ShellTarget } from "../../../shared/ports/shell.ts";
import {
  listUnits,
  removeUnitFiles,
  startUnit,
  stopUnit,
  timedOutExit,
  type UnitStart,
} from "../../../shared/shell/detached.ts";
import { claimFence } from "../../../shared/shell/fence.ts";
import { followUnit, readUnit, type UnitEnd } from "../../../shared/shell/follow-unit.ts";
import { fails } from "../../contract/shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { LabServer } from "../../lab/server.ts";
import { labTarget } from "./lab-target.ts";
import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

const deadlineMs = 20_000;
const clock: Clock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
};

describeWithLab("detached work", (lab) => {
  describe.each(["with systemd", "without systemd"])("%s", (kind) => {
    let server: LabServer;
    let shell: Shell;
    let relay: TcpRelay;
    let target: ShellTarget;
    beforeAll(async () => {
      server = await lab.startServer({ kind: "bare" });
      if (kind === "without systemd") {
        await server.read(["mv", "/run/systemd/system", "/run/systemd/hidden"]);
      }
      relay = await startTcpRelay(server);
      shell = createSsh2Shell();
      target = labTarget(server, { port: relay.port, user: "admin" });
    });
    afterAll(async () => {
      await shell.close();
      await relay.close();
      await server.remove();
    });

    const fresh = (): string => `op_${randomBytes(6).toString("hex")}`;
    const start = (unit: Partial<UnitStart> & Pick<UnitStart, "operationId" | "argv">) =>
      startUnit(shell, target, { step: "build", timeoutSeconds: 60, deadlineMs, ...unit });
    const follow = async (operationId: string, options: { offset?: number; onChunk?: () => void } = {}) => {
      const chunks: Uint8Array[] = [];
      const reader = followUnit(shell, target, {
        operationId,
        step: "build",
        offset: options.offset ?? 0,
        clock,
      });
      let step = await reader.next();
      for (; step.done !== true; step = await reader.next()) {
        chunks.push(step.value.chunk);
        options.onChunk?.();
      }
      return { text: Buffer.concat(chunks).toString(), end: step.value as UnitEnd };
    };
    const running = async (pattern: string): Promise<string> =>
      (await server.exec(["sh", "-c", 'grep -al -- "$1" /proc/[0-9]*/cmdline 2>/dev/null', "sh", pattern]))
        .stdout;

    it("runs a command with its arguments, secrets, input and folder, and tells every byte and the exit", async () => {
      const operationId = fresh();
      const script =
        'printf "%s|%s|" "$1" "$SECRET"; cat; pwd; id -u; umask; env | grep -c "^base=" ; exit 9';
      const answer = await start({
        operationId,
        argv: ["sh", "-c", script, "sh", "$HOME `id` %n $x $$ it's"],
        env: { SECRET: "a'b\nc $(id)", base: "mine" },
        stdin: "in\u0001\n",
        directory: "/tmp",
      });
      expect(answer).toBe("started");
      const { text, end } = await follow(operationId);
      expect(text).toBe("$HOME `id` %n $x $$ it's|a'b\nc $(id)|in\u0001\n/tmp\n0\n0022\n1\n");
      expect(end).toMatchObject({ exit: 9, started: true, bootChanged: false });
      expect(
        await server.read(["sh", "-c", `grep -l 'a.b' /var/lib/slipway/operations/${operationId}/* | wc -l`]),
      ).toBe("1"); // the log that printed it
      expect(await server.read(["stat", "-c", "%a", `/var/lib/slipway/operations/${operationId}`])).toBe(
        "700",
      );
      expect(
        await server.read(["stat", "-c", "%a", `/var/lib/slipway/operations/${operationId}/build.log`]),
      ).toBe("600");
    });

    it("never shows a secret in the process table", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "20"], env: { SECRET: "hush-hush-77" } });
      expect(await running("[h]ush-hush-77")).toBe("");
      await stopUnit(shell, target, { operationId, step: "build", deadlineMs });
    });

    it("starts a step once, however often it is asked", async () => {
      const operationId = fresh();
      const argv = ["sh", "-c", "echo once; sleep 0.2"] as const;
      const answers = await Promise.all(Array.from({ length: 5 }, () => start({ operationId, argv })));
      expect(answers.filter((each) => each === "started")).toHaveLength(1);
      expect((await follow(operationId)).text).toBe("once\n");
      expect(await start({ operationId, argv })).toBe("already");
    });

    it("survives a lost connection and is followed across cuts with no gap and nothing twice", async () => {
      const operationId = fresh();
      const script =
        "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; [ $((i % 100)) != 0 ] || sleep 0.05; done";
      await start({ operationId, argv: ["sh", "-c", script] });
      let cuts = 0;
      const onChunk = () => {
        if (cuts < 4) {
          cuts++;
          relay.cut();
        }
      };
      const { text, end } = await follow(operationId, { onChunk });
      expect(text).toBe(Array.from({ length: 3000 }, (_, index) => `line ${index + 1}\n`).join(""));
      expect(end.exit).toBe(0);
      expect(cuts).toBe(4);
      const half = Math.trunc(text.length / 2);
      expect((await follow(operationId, { offset: half })).text).toBe(text.slice(half));
    });

    it("gives up following after the server was out of reach for too long", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "20"] });
      relay.setRefusing(true);
      relay.cut();
      const reader = followUnit(shell, target, {
        operationId,
        step: "build",
        offset: 0,
        clock,
        lostForMs: 1_000,
      });
      await fails("unreachable", reader.next());
      relay.setRefusing(false);
      await expect
        .poll(
          () => stopUnit(shell, target, { operationId, step: "build", deadlineMs }).catch(() => undefined),
          { timeout: 15_000 },
        )
        .toEqual({ gone: true });
    });

    it("is stopped with everything that it started, also what left its session or ignores TERM", async () => {
      const operationId = fresh();
      const stubborn = "trap '' TERM; echo stubborn; while :; do sleep 4071; done";
      const argv = [
        "sh",
        "-c",
        'setsid sh -c "$1" & setsid sleep 4072 & sleep 4073',
        "sh",
        stubborn,
      ] as const;
      await start({ operationId, argv });
      const reading = await readUnit(shell, target, { operationId, step: "build", offset: 0, waitMs: 2_000 });
      expect(reading).toMatchObject({ alive: true, exit: null, started: true });
      const startedMs = performance.now();
      expect(await stopUnit(shell, target, { operationId, step: "build", deadlineMs })).toEqual({
        gone: true,
      });
      expect(performance.now() - startedMs).toBeLessThan(8_000);
      expect(await running("[4]07[123]")).toBe("");
      const after = await readUnit(shell, target, { operationId, step: "build", offset: 0, waitMs: 0 });
      expect(after.alive).toBe(false);
      expect(await stopUnit(shell, target, { operationId, step: "build", deadlineMs })).toEqual({
        gone: true,
      });
    });

    it("leaves nothing running when its command ends", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sh", "-c", "setsid sleep 4081 & sleep 4082 & exit 0"] });
      expect((await follow(operationId)).end.exit).toBe(0);
      await expect.poll(() => running("[4]08[12]"), { timeout: 5_000 }).toBe("");
    });

    it("ends at its time limit", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "4091"], timeoutSeconds: 1 });
      expect((await follow(operationId)).end.exit).toBe(timedOutExit);
    });

    it("that was killed is told as neither alive nor ended", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "4095"] });
      await server.read([
        "sh",
        "-c",
        `read -r pid _ </var/lib/slipway/operations/${operationId}/build.pid; kill -KILL $pid`,
      ]);
      const { end } = await follow(operationId);
      expect(end).toMatchObject({ exit: null, bootChanged: false, started: true });
      expect(await stopUnit(shell, target, { operationId, step: "build", deadlineMs })).toEqual({
        gone: true,
      });
      expect(await running("[4]095")).toBe("");
    });

    it("is not started for an owner that was replaced", async () => {
      const operationId = fresh();
      const resource = `prj_${operationId.slice(3)}`;
      await claimFence(shell, target, { resource, token: 5, deadlineMs });
      const late = start({ operationId, argv: ["true"], fence: { resource, token: 4 } });
      await expect(late).rejects.toMatchObject({ name: "FencedOut", holder: 5 });
      expect(
        (await readUnit(shell, target, { operationId, step: "build", offset: 0, waitMs: 0 })).started,
      ).toBe(false);
      expect(await start({ operationId, argv: ["true"], fence: { resource, token: 5 } })).toBe("started");
    });

    it("is listed until its files are removed", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sh", "-c", "exit 4"] });
      await follow(operationId);
      const listed = () => listUnits(shell, target, { deadlineMs });
      expect(await listed()).toContainEqual({ operationId, step: "build", exit: 4, alive: false });
      await removeUnitFiles(shell, target, { operationId, deadlineMs });
      expect((await listed()).map((each) => each.operationId)).not.toContain(operationId);
    });

    it("has no name that could leave its folder", async () => {
      for (const operationId of ["../x", "a/b", "", "-rf", "a b", "*"]) {
        await expect(removeUnitFiles(shell, target, { operationId, deadlineMs })).rejects.toThrow(RangeError);
        await expect(start({ operationId, argv: ["true"] })).rejects.toThrow(RangeError);
      }
    });

    it("is told as interrupted after the server has restarted", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "4099"] });
      await server.powerOff();
      await server.start();
      const { end } = await follow(operationId);
      expect(end).toMatchObject({ exit: null, bootChanged: true, started: true });
    });

    it("is told as interrupted, not as failed, when the server shuts down in order", async () => {
      const operationId = fresh();
      await start({ operationId, argv: ["sleep", "4099"] });
      await server.reboot();
      const { end } = await follow(operationId);
      expect(end).toMatchObject({ exit: null, bootChanged: true, started: true });
    });
  });
});
