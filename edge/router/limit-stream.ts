/**
 * The cap of bodies that pass through unread: refused at once where the length is said, else counted while they pass.
 * Rejected: the web framework's own limit, which reads ahead as fast as the caller sends and so holds it all in memory.
 */
import { createMiddleware } from "hono/factory";
import { limits } from "../../shared/domain/limits.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { EdgeEnv } from "../edge-options.ts";

export interface StreamedBody {
  stream: ReadableStream<Uint8Array>;
  /** Why it was ended here: whoever reads it at the other end of a connection sees it only break off. */
  refused(): Refusal | undefined;
  /** Aborted with it, or when the caller breaks off: workerd would end the function's request as if it were whole. */
  cut: AbortSignal;
}

export function limitStream(bytesMost: number = limits.uploadBytes) {
  return createMiddleware<EdgeEnv>(async (c, next) => {
    if (Number(c.req.header("content-length") ?? 0) > bytesMost) throw tooLarge(bytesMost);
    const { body } = c.req.raw;
    if (body !== null) c.set("streamed", counted(body, bytesMost));
    await next();
  });
}

function counted(body: ReadableStream<Uint8Array>, bytesMost: number): StreamedBody {
  const reader = body.getReader();
  let bytes = 0;
  let refused: Refusal | undefined;
  const cut = new AbortController();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          cut.abort(error);
          throw error;
        });
        if (done) return controller.close();
        bytes += value.length;
        if (bytes <= bytesMost) return controller.enqueue(value);
        refused = tooLarge(bytesMost);
        cut.abort(refused);
        controller.error(refused);
      },
      // A cancel of the caller's body would end the connection, and with it the answer that says why. The host lets the
      // rest go by when the answer is out.
      cancel: () => reader.releaseLock(),
    },
    { highWaterMark: 0 },
  );
  return { stream, refused: () => refused, cut: cut.signal };
}

function tooLarge(most: number): Refusal {
  return new Refusal("too_large", "too_large", `The body must be at most ${most} bytes long.`);
}
