/**
 * A deployment that fails on a real server reaches people on all four kinds of channel: the platform as a user starts
 * it, a real postfix, a webhook that the library of Standard Webhooks verifies, and a TLS receiver that is hooks.slack.com
 * for the lab's name server and authority. The product has no switch for any of it.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as deployments from "../../../shared/contract/deployments.ts";
import * as notifications from "../../../shared/contract/notifications.ts";
import * as projects from "../../../shared/contract/projects.ts";
import { addServer, type Client, createClient, followDeployment } from "../../demo/main-job.ts";
import {
  makeDataFolder,
  type PlatformProcess,
  removeDataFolder,
  runCli,
  startPlatform,
} from "../../demo/platform-process.ts";
import { sampleApp } from "../../demo/sample-app.ts";
import { makeCertificate } from "../../lab/certificates.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import type { MailPeer } from "../../lab/mail-peer.ts";
import { openReceiver } from "./receiver.ts";

describeWithLab("an alert on all four kinds of channel", (lab) => {
  // An address of its own, since the port is that of https.
  const slackAddress = `127.${randomInt(2, 250)}.${randomInt(1, 250)}.${randomInt(1, 250)}`;
  const slacked: { host: string | undefined; url: string | undefined; json: { text: string } }[] = [];
  let folder: string;
  let mail: MailPeer;
  let slack: Server;
  let platform: PlatformProcess;
  let client: Client;
  let receiver: Awaited<ReturnType<typeof openReceiver>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "slipway-notify-"));
    const { key, cert, authorityFile } = await makeCertificate(folder, "hooks.slack.com");
    [mail, receiver] = await Promise.all([
      lab.startMail({ "hooks.slack.com": slackAddress }),
      openReceiver(),
    ]);
    slack = createServer({ key, cert }, (request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        slacked.push({ host: request.headers.host, url: request.url, json: JSON.parse(text) });
        response.end("ok");
      });
    }).listen(443, slackAddress);
    await once(slack, "listening");
    const dataFolder = await makeDataFolder();
    platform = await startPlatform({
      dataFolder,
      environment: {
        NODE_EXTRA_CA_CERTS: authorityFile,
        SLIPWAY_RESOLVERS: `127.0.0.1:${mail.dnsPort}`,
        SLIPWAY_ALLOW_PRIVATE_TARGETS: "127.0.0.0/8",
        SLIPWAY_SMTP_URL: `smtp://127.0.0.1:${mail.smtpPort}`,
        SLIPWAY_SMTP_FROM: "Slipway <slipway@example.com>",
      },
    });
    const { token } = await runCli<{ token: string }>(
      ["init", "--org", "Acme", "--email", "owner@example.com", "--password-stdin"],
      { dataFolder, stdin: "correct horse battery staple\n" },
    );
    client = createClient({ baseUrl: platform.url, token });
  });

  afterAll(async () => {
    await platform?.stop();
    await mail?.remove();
    await receiver?.close();
    slack?.closeAllConnections();
    slack?.close();
    if (platform !== undefined) await removeDataFolder(platform.dataFolder);
    await rm(folder, { recursive: true, force: true });
  });

  async function addChannel(kind: "email" | "webhook" | "slack", config: Record<string, unknown>) {
    const { data } = await client.call(notifications.createChannel, { json: { kind, label: kind, config } });
    const tested = await client.call(notifications.testChannel, { params: { id: data.id } });
    expect(tested.data, kind).toMatchObject({ ok: true, verified: true });
    return data;
  }

  it("tells that a deployment failed by mail, webhook, Slack and in the feed, and how another one went well", async () => {
    await addChannel("email", { address: mail.address });
    const webhook = await addChannel("webhook", { url: receiver.url });
    await addChannel("slack", { webhookUrl: "https://hooks.slack.com/services/T0/B0/secret" });
    await client.call(notifications.putSubscription, {
      json: { category: "deploy.succeeded", channelId: webhook.id, enabled: true },
    });

    const serverId = await addServer(client, lab.server);
    const [owner, repo] = ["notify", `shop-${randomInt(1_000_000)}`];
    await lab.git.createRepository(owner, repo);
    await lab.git.commit(owner, repo, { files: sampleApp("1"), message: "First" });
    const { data: project } = await client.call(projects.createProject, {
      json: {
        ...{ name: "Shop", serverId, healthCheck: { path: "/" } },
        source: { kind: "git", owner, repo, branch: "main", cloneUrl: lab.git.url(owner, repo) },
      },
    });
    const deploy = async () => {
      const { data } = await client.call(deployments.createDeployment, { json: { projectId: project.id } });
      return followDeployment(client, data.id);
    };
    expect(await deploy()).toMatchObject({ status: "ready" });
    const broken = "FROM node:24-bookworm-slim\nRUN echo the reason >&2; exit 7\n";
    await lab.git.commit(owner, repo, { files: { Dockerfile: broken }, message: "Break it" });
    const failed = await deploy();
    expect(failed).toMatchObject({ status: "failed", error: { code: "build_failed" } });

    const title = "Deploying Shop failed";
    const bound = { timeout: 30_000, interval: 200 };
    await expect.poll(() => mail.mailbox(), bound).toContain(`Subject: [!] ${title}`);
    expect(await mail.mailbox()).toContain(`slipway logs ${failed.id}`);

    await expect.poll(() => receiver.received.length, bound).toBe(3);
    const library = new Webhook(webhook.signingKey ?? "");
    const told = receiver.received.map(({ text, headers }) => library.verify(text, headers));
    expect(told).toMatchObject([
      { type: "channel.test" },
      { type: "deploy.succeeded", data: { title: "Shop is live" } },
      { type: "deploy.failed", data: { title, resource: { type: "deployment", id: failed.id } } },
    ]);

    await expect.poll(() => slacked.length, bound).toBe(2);
    expect(slacked[1]).toMatchObject({
      ...{ host: "hooks.slack.com", url: "/services/T0/B0/secret", json: { text: title } },
    });

    const feed = await client.call(notifications.listDeliveries, { query: {} });
    expect(feed.data.map((one) => [one.category, one.title, one.resource.id])).toEqual([
      ["deploy.failed", title, failed.id],
    ]);
    const log = await client.call(notifications.listDeliveries, { query: { channel: "all" } });
    expect(new Set(log.data.map(({ status }) => status))).toEqual(new Set(["sent"]));
  }, 180_000);
});
