/** A build that prints 200,000 lines: what it costs to keep and show them, beside the same build that nobody reads. */
import * as deployments from "../../../shared/contract/deployments.ts";
import type { LabServer } from "../../lab/server.ts";
import { openFloorDeploy } from "../floor-deploy.ts";
import { loggingApp } from "../logging-app.ts";
import { residentMB } from "../memory.ts";
import type { Row } from "../row.ts";
import { median } from "../statistics.ts";

const sampleMs = 100;
const buildMs = 600_000;

/** With all lines in one step the engine's own builder takes many minutes, also when nobody reads it. */
const steps = 20;

export const buildLog: Row = {
  name: "build-log",
  what: "a build with 200,000 log lines; floor: the same build with its output to /dev/null",
  async measure(stage) {
    const app = await loggingApp(stage, "log");
    const { ssh, floor: server, ours: machine } = await stage.servers();
    await Promise.all([showWholeOutput(machine), showWholeOutput(server)]);
    const { client, process } = await stage.platform();
    const floorDeploy = await openFloorDeploy(ssh, `log.${server.name}`, app.cloneUrl);
    const lines = stage.quick ? 20_000 : 200_000;
    const ours: number[] = [];
    const floor: number[] = [];
    const memory: number[] = [];
    let stored = 0;
    for (let round = 0; round < (stage.quick ? 1 : 3); round++) {
      const say = `seq -f 'line %.0f of a build that has much to say about itself' 1 ${lines / steps}`;
      const sha = await app.commit(...Array.from({ length: steps }, (_, step) => `: ${step}; ${say}`));
      floor.push((await floorDeploy.deploy(sha, { quiet: true }))["build"] ?? 0);
      const id = await app.deploy(sha);
      const endMs = performance.now() + buildMs;
      for (;;) {
        memory.push(residentMB(process.pid));
        const { data } = await client.call(deployments.getDeployment, { params: { id } });
        if (data.error !== null) throw new Error(`The deployment failed: ${data.error.message}`);
        if (data.status === "ready") {
          ours.push(data.phases.build ?? 0);
          break;
        }
        if (performance.now() > endMs) throw new Error("The build did not end in time.");
        await new Promise((resolve) => setTimeout(resolve, sampleMs));
      }
      stored = await storedLines(id);
      stage.say(`a build took ${ours.at(-1)} ms, the floor's ${floor.at(-1)} ms`);
    }
    const [before = 0] = memory;
    return {
      lines: [
        {
          what: `build with ${lines} lines`,
          unit: "ms",
          ours: median(ours),
          floor: median(floor),
          goal: { ratioAtMost: 1.05 },
        },
        {
          what: "memory meanwhile, at most",
          unit: "MB",
          ours: Math.max(...memory),
          floor: before,
          goal: { aboveFloorAtMost: 64 },
        },
      ],
      notes: [`the log holds ${stored} lines of the build`],
    };

    async function storedLines(id: string): Promise<number> {
      let since = 0;
      let count = 0;
      for (;;) {
        const page = await client.call(deployments.getDeploymentLogs, {
          params: { id },
          query: { since, limit: 10_000, phase: "build" },
        });
        const last = page.data.at(-1);
        if (last === undefined) return count;
        count += page.data.length;
        since = last.seq;
      }
    }
  },
};

/** Or the builder cuts the output of a step at two megabytes and at 100 kB a second, and there is nothing to measure. */
async function showWholeOutput(machine: LabServer): Promise<void> {
  const script = `mkdir -p /etc/systemd/system/docker.service.d
printf '[Service]\\nEnvironment=BUILDKIT_STEP_LOG_MAX_SIZE=1000000000 BUILDKIT_STEP_LOG_MAX_SPEED=1000000000\\n' \\
  >/etc/systemd/system/docker.service.d/bench.conf
systemctl daemon-reload && systemctl restart docker`;
  await machine.read(["sh", "-c", script]);
}
