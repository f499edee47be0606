import { expect, test } from "vitest";
import { openLog } from "../../../shared/adapters/pino-log.ts";

function openCaptured(level: "info" | "debug" = "info") {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { log: openLog({ level, destination }), lines };
}

test("a line is JSON with time, level, fields and message", () => {
  const { log, lines } = openCaptured();
  log.child({ module: "deploy" }).warn({ operationId: "op_1" }, "lease lost");
  expect(lines).toEqual([
    {
      level: "warn",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      module: "deploy",
      operationId: "op_1",
      msg: "lease lost",
    },
  ]);
});

test("secrets are replaced by name, at the top and inside", () => {
  const { log, lines } = openCaptured();
  log.info(
    { token: "slp_x", server: { password: "pw" }, body: { auth: { privateKey: "pk" } } },
    "logged by mistake",
  );
  const text = JSON.stringify(lines);
  expect(text).not.toMatch(/slp_x|"pw"|"pk"/);
  expect(text.match(/\[redacted\]/g)).toHaveLength(3);
});

test("an error keeps its message and stack", () => {
  const { log, lines } = openCaptured();
  log.error({ error: new Error("broken") }, "failed");
  expect(lines).toMatchObject([{ error: { message: "broken", stack: expect.stringContaining("broken") } }]);
});

test("debug lines are left out unless asked for", () => {
  const quiet = openCaptured();
  quiet.log.debug({}, "detail");
  expect(quiet.lines).toEqual([]);
  const loud = openCaptured("debug");
  loud.log.debug({}, "detail");
  expect(loud.lines).toHaveLength(1);
});
