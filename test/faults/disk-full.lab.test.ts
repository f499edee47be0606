/** A server with one small disk for the engine and for us, full before a deployment or because of it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDeployment, getDeployment } from "../../shared/contract/deployments.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import type { LabServer } from "../lab/server.ts";
import { countingApp } from "./app.ts";
import { judgePublicUrl } from "./oracle.ts";
import { settled } from "./rows.ts";
import { type FaultStage, openFaultStage } from "./stage.ts";
import { openSubject, type Subject } from "./subject.ts";

const image = "node:24-bookworm-slim";
const freeMB = 200;

/** Both folders on one tmpfs, which holds the base image and little more. */
async function giveSmallDisk(machine: LabServer): Promise<void> {
  const script = `set -e
docker save "$1" -o /root/image.tar
systemctl stop docker.socket docker.service
mkdir -p /srv/small /var/lib/slipway
mount -t tmpfs -o size=4g tmpfs /srv/small
mkdir /srv/small/docker /srv/small/slipway
mount --bind /srv/small/docker /var/lib/docker
mount --bind /srv/small/slipway /var/lib/slipway
systemctl start docker.service
docker load -q -i /root/image.tar
rm /root/image.tar
used=$(df -Pm /srv/small | awk 'NR==2 { print $3 }')
mount -o remount,size=$((used + $2))m /srv/small`;
  await machine.read(["sh", "-c", script, "small", image, String(freeMB)], { deadlineMs: 120_000 });
}

describeWithLab("a deployment on a server whose disk is full", (lab) => {
  let stage: FaultStage;
  let subject: Subject;
  beforeAll(async () => {
    stage = await openFaultStage(lab, giveSmallDisk);
    subject = await openSubject(stage);
  });
  afterAll(() => stage?.close());

  const deploy = async () => {
    const client = stage.client(stage.controllers[0] ?? (await stage.startController("short")));
    const { data } = await client.call(createDeployment, { json: { projectId: subject.projectId } });
    await settled(stage.db, data.id);
    return (await client.call(getDeployment, { params: { id: data.id } })).data;
  };
  const freeKB = async () =>
    Number(await stage.machine.read(["sh", "-c", "df -Pk /srv/small | awk 'NR==2 { print $4 }'"]));
  const full = { status: "failed", error: { code: "disk_full", hint: expect.stringContaining("disk") } };

  it("because of its own build, fails with a hint that names the disk, and gives the space back", async () => {
    const before = await freeKB();
    const greedy = countingApp("greedy");
    const Dockerfile = greedy.Dockerfile.replace("COPY", "RUN head -c 4G /dev/zero >/big\nCOPY");
    await subject.commit({ ...greedy, Dockerfile });
    expect(await deploy()).toMatchObject(full);
    await judgePublicUrl(stage, subject);
    expect(await freeKB()).toBeGreaterThan(before - 20_000);
  });

  it("before it began, fails the same way; with room again the next one becomes ready", async () => {
    await stage.machine.exec(["sh", "-c", "cat /dev/zero >/srv/small/filler"]);
    await subject.next();
    expect(await deploy()).toMatchObject(full);
    await judgePublicUrl(stage, subject);
    await stage.machine.read(["rm", "/srv/small/filler"]);
    expect(await deploy()).toMatchObject({ status: "ready", error: null });
    await judgePublicUrl(stage, subject);
  });
});
