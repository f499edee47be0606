import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../../../shared/operations/queue-order.ts";
import { demoKind } from "./demo-kind.ts";

const replacing = demoKind();
const patient = demoKind({ mechanism: { failed: "fail", cancelled: "cancel", superseded: null } });

/** Open operations of one subject, at most one of them in flight. */
const subject = fc
  .array(fc.constantFrom("demo", "other"), { minLength: 1, maxLength: 6 })
  .chain((kinds) =>
    fc.tuple(
      fc.constant(kinds),
      fc.option(fc.nat({ max: kinds.length - 1 })),
      fc.nat({ max: kinds.length - 1 }),
    ),
  )
  .map(([kinds, flying, asked]) => ({
    open: kinds.map((kind, index) => ({
      id: `op_${index}`,
      kind,
      state: index === flying ? "working" : "queued",
      inFlight: index === flying,
    })),
    asked: `op_${asked}`,
  }));

test("nothing starts beside one in flight but that one itself", () => {
  fc.assert(
    fc.property(subject, ({ open, asked }) => {
      const flying = open.find((operation) => operation.inFlight);
      for (const kind of [replacing, patient]) {
        const { start } = decide(open, kind, asked);
        expect(start === null || flying === undefined || start === flying).toBe(true);
      }
    }),
  );
});

test("of waiting operations of a kind that supersedes, all but the newest are over", () => {
  fc.assert(
    fc.property(subject, ({ open, asked }) => {
      const mine = open.filter((operation) => operation.kind === "demo" && !operation.inFlight);
      fc.pre(mine.some((operation) => operation.id === asked));
      const { superseded, start } = decide(open, replacing, asked);
      expect(superseded).toEqual(mine.slice(0, -1));
      expect(start === null || start === mine.at(-1)).toBe(true);
    }),
  );
});

test("where nothing supersedes, nothing is over and the one asked for starts", () => {
  fc.assert(
    fc.property(subject, ({ open, asked }) => {
      fc.pre(open.every((operation) => !operation.inFlight));
      const { superseded, start } = decide(open, patient, asked);
      expect(superseded).toEqual([]);
      expect(start?.id).toBe(asked);
    }),
  );
});
