/** What the edge answers itself: alive, ready, version. Public, and silent about everything else. */
import { limits } from "../shared/domain/limits.ts";
import { Refusal } from "../shared/domain/refusal.ts";
import type { EdgeOptions } from "./edge-options.ts";

export function answerHealth(): Response {
  return Response.json({ data: { status: "ok" } });
}

export async function answerReady({ store, clock }: EdgeOptions): Promise<Response> {
  const answered = new AbortController();
  const tooLate = clock.sleep(limits.readyMs, answered.signal).then(() => {
    throw new Error("the database did not answer in time");
  });
  tooLate.catch(() => undefined);
  try {
    await Promise.race([store.ping(), tooLate]);
  } catch (cause) {
    throw new Refusal("unavailable", "not_ready", "The database does not answer.", {
      cause,
      retryAfterSeconds: 5,
    });
  } finally {
    answered.abort();
  }
  return Response.json({ data: { status: "ready" } });
}

export function answerVersion({ version, mode }: EdgeOptions): Response {
  return Response.json({ data: { version, mode } });
}
