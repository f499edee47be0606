/** The one page with a script: nothing else may run on it, and nothing of the link is sent with it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../database.ts";
import { edgeUnderTest } from "./edge-under-test.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test("its own script may run, by a nonce of this answer alone", async () => {
  const { send } = edgeUnderTest(database.db);
  const answers = [await send("/accept-invitation"), await send("/accept-invitation")];
  const nonces = await Promise.all(
    answers.map(async (answer) => {
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("connect-src 'self'");
      const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy) ?? [];
      const page = await answer.text();
      expect(page.match(/<script[^>]*>/g)).toEqual([`<script nonce="${nonce}">`]);
      return nonce;
    }),
  );
  expect(new Set(nonces).size).toBe(2);
});
