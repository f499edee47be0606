/** The notifications module with all that it needs: its routes, and the senders behind them. */
import { wallClock } from "../shared/adapters/clocks.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import type { KeyRing } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import type { Limiter } from "../shared/ports/limiter.ts";
import { createNotifications } from "./notify/compose.ts";
import type { AssembledPart, PartContext } from "./part-context.ts";

export interface NotifyPartOptions {
  rings: Record<"notify", KeyRing>;
  limiter: Limiter;
}

export function assembleNotify(context: PartContext, { rings, limiter }: NotifyPartOptions): AssembledPart {
  const { configuration, outside, ...shared } = context;
  const { baseUrl, smtp } = configuration;
  const notifications = createNotifications({
    ...{ ...shared, limiter, baseUrl, smtp },
    clock: wallClock,
    sealer: createSealer({ notify: rings.notify }),
    outgoing: outside.guarded,
  });
  return {
    app: notifications.app,
    kinds: [],
    sweeps: [{ everyMs: limits.expiredSweepMs, run: notifications.forget }],
    start: notifications.start,
    stop: notifications.stop,
  };
}
