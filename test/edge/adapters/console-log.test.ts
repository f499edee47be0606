/** What the worker prints, and what it must not. */
import { expect, test } from "vitest";
import { createConsoleLog } from "../../../edge/adapters/console-log.ts";

function printing(level: "debug" | "info" = "info") {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: createConsoleLog(level, (_level, line) => lines.push(JSON.parse(line))) };
}

test("a line is one JSON object with level, time, message and the fields of every parent", () => {
  const { lines, log } = printing();
  log.child({ requestId: "req_1" }).warn({ count: 1n }, "slow");
  log.debug({}, "not said");
  expect(lines).toEqual([
    { level: "warn", time: expect.any(String), requestId: "req_1", count: "1", msg: "slow" },
  ]);
});

test("an error is told with its causes, and without the parameters of a statement", () => {
  const { lines, log } = printing();
  const cause = new Error("connection refused");
  const body = "secret-body ".repeat(100_000);
  log.error({ err: new Error(`Failed query: insert\nparams: ${body}`, { cause }) }, "failed");
  expect(lines).toMatchObject([
    { err: { name: "Error", message: "Failed query: insert", cause: { message: "connection refused" } } },
  ]);
  expect(JSON.stringify(lines)).not.toContain("secret-body");
});
