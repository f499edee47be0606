/** Puts the module together: routes, senders and the runner behind them. What a composition root starts and stops. */
import type { Listener } from "../../shared/db/database.ts";
import type { ModuleApp } from "../../shared/http/module-app.ts";
import type { Outgoing } from "../../shared/ports/outgoing.ts";
import { createEmailSender, type Smtp } from "./channels/email.ts";
import { createSlackSender } from "./channels/slack.ts";
import { createWebhookSender } from "./channels/webhook.ts";
import { forgetOld } from "./forget-old.ts";
import { createNotify, type NotifyOptions } from "./routes.ts";
import { createNotifyRunner } from "./runner.ts";
import { seedMembers } from "./seed-members.ts";

export interface NotificationsOptions extends Omit<NotifyOptions, "senders"> {
  /** Guarded: channels lead where users say. */
  outgoing: Outgoing;
  /** Undefined: e-mail cannot be sent. */
  smtp: Smtp | undefined;
  listener: Listener;
}

export interface Notifications {
  app: ModuleApp;
  /** `alone`: no other process works on this database. */
  start(alone: boolean): void;
  /** All that is due now, to its end. */
  pass(): Promise<void>;
  forget(): Promise<void>;
  stop(): Promise<void>;
}

export function createNotifications(options: NotificationsOptions): Notifications {
  const { outgoing, smtp, listener, db, log, clock } = options;
  const senders = {
    email: createEmailSender(smtp),
    webhook: createWebhookSender(outgoing),
    slack: createSlackSender(outgoing),
  };
  const parts = { ...options, senders };
  const runner = createNotifyRunner({ ...parts, random: Math.random });
  return {
    app: createNotify(parts),
    start: (alone) => {
      seedMembers(db).catch((error: unknown) => log.warn({ error }, "members could not be seeded"));
      runner.start(listener, alone);
    },
    pass: runner.pass,
    forget: () => forgetOld(db, clock.nowMs()),
    stop: runner.stop,
  };
}
