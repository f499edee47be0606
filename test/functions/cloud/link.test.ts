/** The link of an organization to its account in the cloud, asked of a real second instance. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import { startRelay } from "./relay.ts";
import { type Account, startTwoInstances, type TwoInstances } from "./two-instances.ts";

let two: TwoInstances;
let acme: Account;
let there: Account;
beforeAll(async () => {
  two = await startTwoInstances();
});
afterAll(() => two.close());
beforeEach(async () => {
  [acme, there] = await Promise.all([two.account(two.home), two.account(two.cloud)]);
});

const put = (body: Record<string, unknown>, call = acme.call) => call("PUT", "/api/cloud-link", body);
const stored = async () => {
  const all = await two.home.db.select().from(cloudLinks);
  return all.find(({ organizationId }) => organizationId === acme.owner.organizationId);
};

describe("linking", () => {
  it("asks the cloud first, stores the token sealed, and never returns it", async () => {
    expect((await acme.call("GET", "/api/cloud-link")).body).toEqual({ data: null });
    const made = await put({ url: `${two.cloud.url}/`, token: there.token });
    expect([made.status, made.body.data]).toMatchObject([
      200,
      {
        url: two.cloud.url,
        token: { set: true, last4: there.token.slice(-4) },
        organization: { id: there.owner.organizationId, name: "Acme" },
      },
    ]);
    const read = await acme.call("GET", "/api/cloud-link");
    expect(read.body).toEqual(made.body);
    expect(made.text + read.text).not.toContain(there.token);
    expect((await stored())?.sealedToken).toMatch(/^sealed:v1:cloud:/);
    const audit = await two.home.db
      .select({ action: auditEntries.action, fields: auditEntries.fields })
      .from(auditEntries)
      .where(eq(auditEntries.organizationId, acme.owner.organizationId));
    expect(audit).toEqual([{ action: "cloud_link.created", fields: ["url", "token"] }]);
  });

  it("checks the stored token again without a new one, and needs it again for another address", async () => {
    await put({ url: two.cloud.url, token: there.token });
    expect((await put({ url: two.cloud.url })).status).toBe(200);
    const moved = await put({ url: two.home.url });
    expect([moved.status, moved.body]).toMatchObject([
      400,
      { code: "credential_required", details: [{ path: "body.token" }] },
    ]);
    expect((await stored())?.url).toBe(two.cloud.url);
  });

  it("never brings an old token back over one that was given meanwhile", async () => {
    const relay = await startRelay(two.cloud.url);
    try {
      await put({ url: relay.url, token: there.token });
      const fresh = await seedToken(two.cloud.db, there.owner);
      relay.first = async () => void (await put({ url: relay.url, token: fresh.token }));
      const late = await put({ url: relay.url });
      expect([late.status, late.body.code]).toEqual([409, "cloud_link_changed"]);
      expect((await stored())?.last4).toBe(fresh.token.slice(-4));
    } finally {
      await relay.close();
    }
  });

  it.each([
    ["a token that the cloud does not know", { token: `slp_${"a".repeat(40)}` }, "cloud_token_refused"],
    ["no token", { token: undefined }, "credential_required"],
    ["text that is no token", { token: "secret" }, "validation_failed"],
  ])("refuses %s, naming the field, and stores nothing", async (_what, change, code) => {
    const refused = await put({ ...{ url: two.cloud.url, token: there.token }, ...change });
    expect([refused.status, refused.body]).toMatchObject([400, { code, details: [{ path: "body.token" }] }]);
    expect(await stored()).toBeUndefined();
  });

  it("refuses a token that may do too little there", async () => {
    const weak = await seedToken(two.cloud.db, there.owner, { permissions: ["organization:read"] });
    const refused = await put({ url: two.cloud.url, token: weak.token });
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { code: "cloud_token_too_weak", details: [{ path: "body.token" }] },
    ]);
  });

  it("refuses this very instance, what is no Slipway, and what is no origin", async () => {
    const other = createServer((_request, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    try {
      for (const [url, token, code] of [
        [two.home.url, acme.token, "cloud_is_this_instance"],
        [elsewhere, there.token, "not_a_cloud"],
        ["https://user:secret@cloud.test", there.token, "validation_failed"],
        ["https://cloud.test/path", there.token, "validation_failed"],
        ["ftp://cloud.test", there.token, "validation_failed"],
      ]) {
        const refused = await put({ url, token });
        expect([url, refused.status, refused.body]).toMatchObject([
          url,
          400,
          { code, details: [{ path: "body.url" }] },
        ]);
      }
    } finally {
      other.close();
    }
  });

  it("is 502 when nothing answers, and says which field", async () => {
    const refused = await put({ url: "http://127.0.0.1:9", token: there.token });
    expect([refused.status, refused.body]).toMatchObject([
      502,
      { code: "cloud_unreachable", details: [{ path: "body.url" }] },
    ]);
  });
});

describe("whose link it is", () => {
  it("is the owner's matter alone, and no narrowed token's", async () => {
    const narrowed = await seedToken(two.home.db, acme.owner, { projectIds: ["prj_x"] });
    const answer = await fetch(`${two.home.url}/api/cloud-link`, {
      headers: { authorization: `Bearer ${narrowed.token}` },
    });
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: "narrowed_token" }]);
  });

  it("is never another organization's", async () => {
    await put({ url: two.cloud.url, token: there.token });
    const other = await two.account(two.home);
    expect((await other.call("GET", "/api/cloud-link")).body).toEqual({ data: null });
    expect((await other.call("DELETE", "/api/cloud-link")).status).toBe(200);
    expect((await stored())?.url).toBe(two.cloud.url);
  });

  it("is forgotten with its token; again is no error", async () => {
    await put({ url: two.cloud.url, token: there.token });
    expect((await acme.call("DELETE", "/api/cloud-link")).body).toEqual({ success: true });
    expect((await acme.call("DELETE", "/api/cloud-link")).status).toBe(200);
    expect(await stored()).toBeUndefined();
  });

  it("is not there on a cloud instance", async () => {
    expect((await there.call("GET", "/api/cloud-link")).status).toBe(404);
  });
});
