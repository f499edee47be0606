/** What the log and the metrics say of a request, and what they must never say. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMetrics } from "../../shared/adapters/prometheus-metrics.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { recordingLog, silentLog } from "../silent-log.ts";
import { edgeUnderTest, seedToken } from "./edge-under-test.ts";

let database: TestDatabase;
let token: string;

beforeAll(async () => {
  database = await openTestDatabase();
  token = (await seedToken(database.db, await seedOrganization(database.db))).token;
});
afterAll(() => database.close());

function observed() {
  const metrics = createMetrics({ log: silentLog });
  return { ...edgeUnderTest(database.db, { metrics, log: recordingLog() }), metrics };
}

const linesOf = ({ options }: ReturnType<typeof observed>) =>
  (options.log as ReturnType<typeof recordingLog>).lines;

test("every request has one line: method, route, status, ms and the id that its answer carries", async () => {
  const edge = observed();
  const answer = await edge.send("/api/projects/prj_1?secret=hunter22", { token });
  expect(linesOf(edge)).toEqual([
    {
      level: "debug",
      message: "answered",
      fields: {
        requestId: answer.headers.get("x-request-id"),
        method: "GET",
        route: "/api/projects/{id}",
        status: 200,
        ms: 0,
      },
    },
  ]);
});

test("the function works under the same id", async () => {
  const edge = observed();
  const answer = await edge.send("/api/projects", { token });
  expect(edge.reached[0]?.identity?.requestId).toBe(answer.headers.get("x-request-id"));
});

test("an id that the caller sends is not believed", async () => {
  const answer = await observed().send("/api/system/health", { headers: { "x-request-id": "mine\tevil" } });
  expect(answer.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
});

test("no line holds a token, a query or an id of the path", async () => {
  const edge = observed();
  for (const path of [
    `/api/projects/${token}?token=${token}`,
    `/api/nowhere/${token}`,
    `/?token=${token}`,
    `/api/webhooks/${token}?hook=${token}`,
  ]) {
    await edge.send(path, { token, method: path.includes("webhooks") ? "POST" : "GET" });
  }
  const text = JSON.stringify(linesOf(edge)) + (await edge.metrics.expose());
  expect(linesOf(edge)).toHaveLength(4);
  expect(text).not.toContain(token);
});

test("requests are counted by route and status; whatever has no route is one series", async () => {
  const edge = observed();
  await edge.send("/api/system/health");
  await edge.send("/api/projects");
  for (const path of ["/a", "/b", "/api/c"]) await edge.send(path, { method: "BREW" });
  const lines = (await edge.metrics.expose()).split("\n");
  expect(lines).toContain(
    'slipway_http_requests_total{method="GET",route="/api/system/health",status="200"} 1',
  );
  expect(lines).toContain('slipway_http_requests_total{method="GET",route="/api/projects",status="401"} 1');
  expect(lines).toContain('slipway_http_requests_total{method="other",route="none",status="404"} 3');
  expect(lines).toContain('slipway_http_request_duration_seconds_count{route="none"} 3');
});

test("refused deliveries are counted by status, never by source", async () => {
  const edge = observed();
  for (let index = 0; index < 3; index++) {
    await edge.send("/api/webhooks/git_host", { method: "POST", body: "{}", from: `192.0.2.${index}` });
  }
  const text = await edge.metrics.expose();
  expect(text).toContain('slipway_webhooks_refused_total{status="401"} 3\n');
  expect(text).not.toContain("192.0.2");
});
