/** E-mail against a real SMTP server, and Slack's form of a message. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSlackSender } from "../../../functions/notify/channels/slack.ts";
import type { OutgoingRequest } from "../../../shared/ports/outgoing.ts";
import { addChannel, type NotifyPlatform, openNotifyPlatform, type Person } from "./notify-platform.ts";

interface Mail {
  from: string;
  to: string[];
  text: string;
}

let server: SMTPServer;
let platform: NotifyPlatform;
let ada: Person;
let mails: Mail[] = [];
let refuse: { code: number; text: string } | null = null;

beforeAll(async () => {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo: (_address, _session, answer) => {
      const error =
        refuse === null ? null : Object.assign(new Error(refuse.text), { responseCode: refuse.code });
      answer(error);
    },
    onData: (stream, session, answer) => {
      let text = "";
      stream.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map((one) => one.address),
          text,
        });
        answer();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  const smtp = { url: `smtp://127.0.0.1:${port}`, from: "Slipway <slipway@example.com>" };
  platform = await openNotifyPlatform({ smtp });
});
afterAll(async () => {
  await platform.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
beforeEach(async () => {
  mails = [];
  refuse = null;
  ada = await platform.organization();
});

const log = async () =>
  (await ada.call("GET", "/deliveries?channel=all")).body.data.filter(
    (one: { channelKind: string }) => one.channelKind === "email",
  );

const headerOf = (mail: Mail | undefined, name: string) => {
  const head = (mail?.text ?? "").split("\r\n\r\n")[0]?.replaceAll(/\r\n[ \t]+/g, " ") ?? "";
  const lines = head.split("\r\n").filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return lines.map((line) => line.slice(name.length + 1).trim());
};

describe("an e-mail", () => {
  it("comes as text and HTML, with a link and an id that stays", async () => {
    await addChannel(ada, "email", { address: "ada@example.org" });
    await platform.raise(ada, {
      title: "Deploying shop failed",
      message: "Look <here> & there.",
      link: "/api/x",
    });
    await platform.pass();
    const [mail] = mails;
    const [delivery] = await log();
    expect([mail?.from, mail?.to]).toEqual(["slipway@example.com", ["ada@example.org"]]);
    expect(headerOf(mail, "subject")).toEqual(["[!] Deploying shop failed"]);
    expect(headerOf(mail, "message-id")).toEqual([`<${delivery.id}@example.com>`]);
    expect(headerOf(mail, "auto-submitted")).toEqual(["auto-generated"]);
    expect(headerOf(mail, "content-type")[0]).toContain("multipart/alternative");
    expect(mail?.text).toContain("Look <here> & there.");
    expect(mail?.text.replaceAll("=\r\n", "")).toContain("Look &lt;here&gt; &amp; there.");
    expect(mail?.text).toContain("https://slipway.example.com/api/x");
  });

  it("holds no header that an alert, a name or a label brought along", async () => {
    const made = await ada.call("POST", "/channels", {
      ...{ kind: "email", label: "Bcc: eve@example.com", config: { address: "ada@example.org" } },
    });
    await ada.call("PATCH", `/channels/${made.body.data.id}`, { verified: true });
    const evil = "x\r\nBcc: eve@example.com\r\n\r\nbody\u2028\u0007";
    await platform.raise(ada, { title: evil, message: `${evil}\r\n.\r\nMAIL FROM:<eve@example.com>` });
    await platform.pass();
    expect(mails).toHaveLength(1);
    expect(mails[0]?.to).toEqual(["ada@example.org"]);
    expect(headerOf(mails[0], "bcc")).toEqual([]);
    expect(headerOf(mails[0], "subject")).toHaveLength(1);
  });

  it("that the mail server puts off is tried again, one that it refuses is not", async () => {
    await addChannel(ada, "email", { address: "ada@example.org" });
    refuse = { code: 451, text: "later" };
    await platform.raise(ada);
    await platform.pass();
    expect((await log())[0]).toMatchObject({
      status: "queued",
      attempts: 1,
      lastError: expect.stringContaining("451"),
    });
    refuse = { code: 550, text: "nobody of this name" };
    await platform.clock.advance(10_000);
    await platform.pass();
    expect((await log())[0]).toMatchObject({
      status: "failed",
      attempts: 2,
      lastError: expect.stringContaining("550"),
    });
    refuse = null;
    await platform.raise(ada);
    await platform.pass();
    expect((await log())[0]).toMatchObject({ status: "sent" });
  });

  it("of a test says what the mail server said", async () => {
    const made = await ada.call("POST", "/channels", {
      ...{ kind: "email", label: "mine", config: { address: "ada@example.org" } },
    });
    const { body } = await ada.call("POST", `/channels/${made.body.data.id}/test`);
    expect(body.data).toMatchObject({ ok: true, status: 250, verified: true });
    refuse = { code: 550, text: "nobody of this name" };
    const again = await ada.call("POST", `/channels/${made.body.data.id}/test`);
    expect(again.body.data).toMatchObject({ ok: false, code: "mail_refused", status: 550, verified: true });
  });
});

describe("Slack", () => {
  const message = {
    ...{ id: "ndl_1", organizationId: "org_1", category: "deploy.failed", severity: "error" as const },
    ...{ title: "<!channel> & co", message: "see <https://evil.test|this>", count: 3, createdAt: "" },
    ...{ link: "https://slipway.example.com/a|b>", resource: { type: "x", id: "y" } },
  };

  it("gets blocks in which no name mentions a channel or disguises a link", async () => {
    const sent: OutgoingRequest[] = [];
    const send = createSlackSender({
      send: async (request) => {
        sent.push(request);
        return { status: 200, headers: {}, text: "ok" };
      },
    });
    const outcome = await send({ config: {}, secret: "https://hooks.slack.com/services/x" }, message, 0);
    expect(outcome).toMatchObject({ result: "delivered", response: "ok" });
    const body = JSON.parse(String(sent[0]?.body));
    expect(sent[0]?.url).toBe("https://hooks.slack.com/services/x");
    expect(body.text).toBe("&lt;!channel&gt; &amp; co (3 times)");
    expect(JSON.stringify(body.blocks)).not.toContain("<!channel>");
    expect(body.blocks.map((block: { text: { text: string } }) => block.text.text)).toEqual([
      ":red_circle: *&lt;!channel&gt; &amp; co* (3 times)",
      "see &lt;https://evil.test|this&gt;",
      "<https://slipway.example.com/a%7Cb%3E|Show it>",
    ]);
  });

  it("that removed the hook gets nothing any more", async () => {
    const send = createSlackSender({ send: async () => ({ status: 404, headers: {}, text: "no_service" }) });
    expect(
      await send({ config: {}, secret: "https://hooks.slack.com/services/x" }, message, 0),
    ).toMatchObject({
      result: "gone",
    });
  });
});
