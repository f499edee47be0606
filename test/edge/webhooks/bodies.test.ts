/** Bodies and headers as hostile or odd senders make them, on both hosts (decisions.md section 5). */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import { edgeUnderTest, onNode } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, request, rowsOf, seedProject, sha } from "./scene.ts";

const scene = openScene();
const instance = { instanceWebhookSecret: "secret-of-the-instance" };

const bytes = (text: string, encoding: "utf16le" | "utf8" | "latin1") =>
  Uint8Array.from(Buffer.from(text, encoding));

describe("odd encodings", () => {
  test.each([
    ["UTF-16 without a mark", (json: string) => bytes(json, "utf16le")],
    ["UTF-16 with a mark", (json: string) => bytes(`\ufeff${json}`, "utf16le")],
    [
      "UTF-16 the other way round",
      (json: string) => bytes(`\ufeff${json}`, "utf16le").map((_, i, all) => all[i ^ 1] ?? 0),
    ],
    ["bytes that are no UTF-8", (json: string) => bytes(json.replace("Fix", "F\u00fc"), "latin1")],
    ["half a character at the end", (json: string) => Uint8Array.from([...bytes(json, "utf8"), 0xc3])],
  ])("%s is not JSON: 400 when the instance signed it, else 401", async (_what, encode) => {
    const edge = edgeUnderTest(scene.db, instance);
    const projectId = await seedProject(scene);
    const body = encode(JSON.stringify(push(scene)));
    expect((await edge.send(...request(body, { secret: instance.instanceWebhookSecret }))).status).toBe(400);
    expect((await edge.send(...request(body, { secret: "s3cret" }))).status).toBe(401);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
  });

  test("one byte order mark before UTF-8 is no part of the JSON", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const body = bytes(`\ufeff${JSON.stringify(push(scene))}`, "utf8");
    expect(await (await edge.send(...request(body))).json()).toMatchObject({ status: "done" });
  });

  test("a branch beyond ASCII is compared as it is", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene, { branch: "größe-🚀" });
    await deliver(edge, push(scene, { ref: "refs/heads/größe-🚀" }));
    expect(await deploymentsOf(scene, projectId)).toMatchObject([{ branch: "größe-🚀" }]);
  });
});

describe("a JSON key that stands there twice", () => {
  test("counts once, for choosing the secret and for the deployment alike", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const twice = JSON.stringify(push(scene)).replace('"after":', `"after":"${sha("e")}","after":`);
    expect((await edge.send(...request(twice))).status).toBe(200);
    expect(await deploymentsOf(scene, projectId)).toMatchObject([{ commitSha: sha("b") }]);
    expect(await rowsOf(scene)).toMatchObject([{ commitSha: sha("b") }]);
  });
});

describe("a body in pieces without a length", () => {
  test("is verified as a whole", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const json = JSON.stringify(push(scene));
    const [path, init] = request(json);
    const pieces = new TextEncoder().encode(json);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent >= pieces.length) return controller.close();
        controller.enqueue(pieces.subarray(sent, sent + 7));
        sent += 7;
      },
    });
    const answer = await edge.send(path, { ...init, body, duplex: "half" } as RequestInit);
    expect(await answer.json()).toMatchObject({ status: "done" });
  });

  test("that never ends is refused at the cap", async () => {
    const edge = edgeUnderTest(scene.db);
    const [path, init] = request("");
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_048_576)),
    });
    const sent = edge.send(path, { ...init, body, duplex: "half" } as RequestInit);
    // Over a network the connection is cut, since this sender never comes to read the answer.
    const status = await sent.then(
      (answer) => answer.status,
      (error: unknown) => {
        if (onNode) throw error;
        return 413;
      },
    );
    expect(status).toBe(413);
  });
});

describe("aliases", () => {
  test("of headers and provider count, and the X-Provider headers win", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const headers = { "x-github-event": "push", "x-github-delivery": "of-the-alias" };
    const pinged = await deliver(edge, push(scene), {
      provider: "github",
      event: "ping",
      delivery: "own",
      headers,
    });
    expect(await pinged.json()).toEqual({ success: true, deliveryId: "own", status: "ignored" });
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
    const pushed = await deliver(edge, push(scene), {
      provider: "github",
      event: null,
      delivery: null,
      headers,
    });
    expect(await pushed.json()).toEqual({ success: true, deliveryId: "of-the-alias", status: "done" });
    expect(await rowsOf(scene)).toMatchObject([{ provider: "git_host" }, { provider: "git_host" }]);
  });

  test("an empty event header is none: 200, ignored with the reason", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const answer = await deliver(edge, push(scene), { event: " " });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: "ignored" }]);
    expect(await rowsOf(scene)).toMatchObject([{ reason: "no_event_header", status: "ignored" }]);
  });
});

describe("a body that comes slowly or never ends", () => {
  const { deliveryBodyMs } = limits;

  test("in pieces is told so in time, and nothing is stored", async () => {
    if (onNode) Object.assign(limits, { deliveryBodyMs: 300 });
    onTestFinished(() => void Object.assign(limits, { deliveryBodyMs }));
    const { url, headers, close } = await edgeUnderTest(scene.db).open();
    onTestFinished(close);
    await seedProject(scene);
    const sending = httpRequest(`${url}/api/webhooks/git_host`, {
      method: "POST",
      headers: { ...headers, "transfer-encoding": "chunked" },
    });
    sending.on("error", () => undefined);
    const dripping = setInterval(() => sending.write("{"), 50);
    const [answer] = (await once(sending, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(400);
    expect(await json(answer)).toMatchObject({ code: "body_too_slow" });
    clearInterval(dripping);
    sending.destroy();
    expect(await rowsOf(scene)).toEqual([]);
  });
});
