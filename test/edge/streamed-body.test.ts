/** Large bodies through the edge to a function, in one process and over HTTP: unread, capped on both sides, memory flat. */
import type { Server } from "node:http";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forwardHttp } from "../../edge/router/forward-http.ts";
import { forwardInProcess } from "../../edge/router/forward-in-process.ts";
import * as contract from "../../shared/contract/uploads.ts";
import { createIdentitySigner, createIdentityVerifier } from "../../shared/crypto/identity-token.ts";
import { admit } from "../../shared/db/tenancy.ts";
import { limits } from "../../shared/domain/limits.ts";
import { identityHeader, refuseUnsigned, verifyIdentityHeader } from "../../shared/http/identity-header.ts";
import { createModuleApp, type ModuleAppOptions } from "../../shared/http/module-app.ts";
import type { Forwarder } from "../../shared/ports/forwarder.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { makeIdentityKey } from "../keys.ts";
import { silentLog } from "../silent-log.ts";
import { edgeUnderTest, onNode, seedToken, testOnNode } from "./edge-under-test.ts";
import { uploadBytesOnWorkerd } from "./workerd/upload-cap.ts";

setFlagsFromString("--expose-gc");
/** What is garbage is not held. */
const collect = runInNewContext("gc") as () => void;

let database: TestDatabase;
let token: string;
let key: ReturnType<typeof makeIdentityKey>;

beforeAll(async () => {
  database = await openTestDatabase();
  ({ token } = await seedToken(database.db, await seedOrganization(database.db)));
  key = makeIdentityKey();
});
afterAll(() => database.close());

/** Lengths of bodies that ended as whole ones, and how many did not. */
const arrived: number[] = [];
let brokenOff = 0;

/** Counts what comes, slower than it could be sent. */
function functionApp(verifyIdentity: ModuleAppOptions["verifyIdentity"]) {
  const app = createModuleApp({
    module: "deploy",
    verifyIdentity,
    admit: (identity) => admit(database.db, identity),
    log: silentLog,
  });
  app.on("PUT", contract.putUploadContent.getRoutingPath(), async (c) => {
    let bytes = 0;
    let turns = 0;
    try {
      for await (const chunk of c.req.raw.body as unknown as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        if (++turns % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      brokenOff += 1;
      throw error;
    }
    arrived.push(bytes);
    return c.json({ bytes });
  });
  return app;
}

async function inProcess() {
  const app = functionApp(refuseUnsigned);
  return {
    forwarder: forwardInProcess({ platform: app, deploy: app, notify: app }),
    close: async () => undefined,
  };
}

async function overHttp() {
  const verifier = await createIdentityVerifier({ audience: "deploy", keys: [key] });
  const app = functionApp(verifyIdentityHeader(verifier));
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await new Promise((resolve) => server.once("listening", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signer = await createIdentitySigner(key);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    forwarder: forwardHttp({ origins: { platform: origin, deploy: origin, notify: origin }, signer }),
    close,
  };
}

const mostBytes = onNode ? limits.uploadBytes : uploadBytesOnWorkerd;
const path = "/api/deployments/upload-sessions/ups_1/content";
const chunk = Buffer.alloc(65_536, 1);

/** Workerd reaches functions over HTTP alone; there the test's own end of that way hands on to the function. */
const ways = [
  ["in the same process", inProcess],
  ["over HTTP", onNode ? overHttp : inProcess],
] as const;

describe.each(ways.slice(onNode ? 0 : 1))(
  "a body that is not read on its way to a function %s",
  (_way, open) => {
    let closeFunction: () => Promise<void>;
    let served: Awaited<ReturnType<ReturnType<typeof edgeUnderTest>["open"]>>;

    beforeAll(async () => {
      let forwarder: Forwarder;
      ({ forwarder, close: closeFunction } = await open());
      served = await edgeUnderTest(database.db, { forwarder }).open();
    });
    afterAll(async () => {
      await served.close();
      await closeFunction();
    });

    /** Sends as many chunks as asked; answers as soon as there is an answer, also in the middle of the body. */
    function send(bytes: number, headers: Record<string, string> = {}, onChunk = () => {}) {
      return new Promise<{ status: number; body: string; sent: number }>((resolve, reject) => {
        let sent = 0;
        const going = request(`${served.url}${path}`, {
          method: "PUT",
          // The server ends the connection of a body that it did not read.
          agent: false,
          headers: {
            authorization: `Bearer ${token}`,
            "content-type": "application/gzip",
            ...served.headers,
            ...headers,
          },
        });
        going.on("response", (response) => {
          let body = "";
          response.setEncoding("utf8");
          response.on("data", (text: string) => (body += text));
          response.on("close", () => {
            going.destroy();
            resolve({ status: response.statusCode ?? 0, body, sent });
          });
        });
        // A refusal may close the connection while the rest is still being sent.
        going.on("error", (error) => setTimeout(() => reject(error), 1_000));
        const more = (): void => {
          while (sent < bytes && !going.destroyed) {
            const part = chunk.subarray(0, Math.min(chunk.length, bytes - sent));
            sent += part.length;
            onChunk();
            if (!going.write(part)) {
              going.once("drain", more);
              return;
            }
          }
          if (sent >= bytes) going.end();
        };
        more();
      });
    }

    // The memory of this process, and not of workerd's.
    testOnNode("arrives whole, and memory stays flat at 200 MB", { timeout: 120_000 }, async () => {
      const held = () => {
        collect();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const before = held();
      let most = 0;
      let chunks = 0;
      const bytes = 200_000_000;
      const { status, body } = await send(bytes, {}, () => {
        if (++chunks % 200 === 0) most = Math.max(most, held() - before);
      });
      expect([status, JSON.parse(body)]).toEqual([200, { bytes }]);
      // Half of what passed: buffers of sockets and of two servers in one process, never the whole.
      expect(most).toBeLessThan(bytes / 2);
    });

    test("never arrives as a whole one when its sender breaks off", async () => {
      const before = brokenOff;
      const going = request(`${served.url}${path}`, {
        method: "PUT",
        agent: false,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/gzip", ...served.headers },
      });
      going.on("error", () => undefined);
      going.write(chunk, () => setTimeout(() => going.destroy(), 50));
      await expect.poll(() => brokenOff, { timeout: 10_000 }).toBe(before + 1);
      expect(arrived).not.toContain(chunk.length);
    });

    test("is refused above the cap at once, where its length is said", async () => {
      const answer = await send(chunk.length, { "content-length": String(mostBytes + 1) });
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
        413,
        { success: false, code: "too_large" },
      ]);
    });

    test("is refused as it passes the cap, where its length is not said", { timeout: 120_000 }, async () => {
      const answer = await send(mostBytes + 10 * chunk.length);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
        413,
        { success: false, code: "too_large" },
      ]);
    });

    test("may be as large as the cap", { timeout: 120_000 }, async () => {
      const answer = await send(mostBytes, { "content-length": String(mostBytes) });
      expect(JSON.parse(answer.body)).toEqual({ bytes: mostBytes });
    });
  },
);

test("a token for a stream holds for the routes of streams alone, and no other token for them", async () => {
  const verifier = await createIdentityVerifier({ audience: "deploy", keys: [key] });
  const signer = await createIdentitySigner(key);
  const verify = verifyIdentityHeader(verifier);
  const { organizationId, userId } = await seedOrganization(database.db);
  const ids = { organizationId, userId, credentialId: "tok_1", projectIds: null, serverIds: null };
  const identity = { ...ids, permissions: [], sourceIp: "192.0.2.1", requestId: "req_1" };
  const sign = (method: string, to: string, body: "stream" | (() => Promise<Uint8Array<ArrayBuffer>>)) =>
    signer.sign("deploy", { method, path: to, body }, identity);
  const sent = (method: string, to: string, signed: string, body: string) =>
    verify(new Request(`http://f${to}`, { method, body, headers: { [identityHeader]: signed } }));
  const hashed = async () => new TextEncoder().encode("{}");

  expect(await sent("PUT", path, await sign("PUT", path, "stream"), "anything")).toMatchObject({ userId });
  await expect(sent("PUT", path, await sign("PUT", path, hashed), "{}")).rejects.toThrow(
    "does not come from",
  );
  const create = "/api/deployments";
  await expect(sent("POST", create, await sign("POST", create, "stream"), "{}")).rejects.toThrow(
    "does not come from",
  );
  expect(await sent("POST", create, await sign("POST", create, hashed), "{}")).toMatchObject({ userId });
});
