/** Work whose log grows elsewhere, as a detached unit's does: a file, followed by offset, in small pieces. */
import { open } from "node:fs/promises";
import type { OperationContext } from "../../../shared/operations/definition.ts";
import { createLineWriter } from "../../../shared/operations/line-writer.ts";
import { createRedactor } from "../../../shared/operations/redact.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import { begin, type DemoKind, demoKind } from "./demo-kind.ts";

export const fileSecret = "hunter2-hunter2";

export interface FileKindOptions {
  clock: Clock;
  path: string;
  /** Between two pieces. */
  pauseMs: number;
  pieceBytes: number;
  onEnd?: (error: unknown) => void;
}

export function fileKind({ clock, path, pauseMs, pieceBytes, onEnd }: FileKindOptions): DemoKind {
  return demoKind({
    kind: "file",
    run: async (context) => {
      try {
        await begin(context);
        await follow(context);
        await context.transition("finish");
      } catch (error) {
        onEnd?.(error);
        throw error;
      }
    },
  });

  async function follow(context: OperationContext<"queued", never> | Parameters<DemoKind["run"]>[0]) {
    let offset = Number(context.progress["offset"] ?? 0);
    const writer = createLineWriter({
      append: context.append,
      clock,
      redactor: createRedactor([fileSecret]),
      stream: "stdout",
      phase: "build",
      offsetKey: "offset",
      offset,
    });
    const file = await open(path);
    try {
      for (;;) {
        const { bytesRead, buffer } = await file.read({
          buffer: new Uint8Array(pieceBytes),
          position: offset,
        });
        if (bytesRead === 0) {
          return await writer.end();
        }
        await writer.write(buffer.subarray(0, bytesRead));
        offset += bytesRead;
        if (pauseMs > 0) {
          await clock.sleep(pauseMs, context.signal);
        }
      }
    } finally {
      await file.close();
    }
  }
}
