/**
 * How a delivery moves (decisions.md section 6). Final: sent, failed, suppressed. A lost sender leaves `sending`, which
 * is taken again under the same id. An in-app one is born `sent`: it is where it belongs.
 */
import type { DeliveryStatus } from "../../shared/domain/notification.ts";

export type DeliveryEvent =
  | "take" // a sender has the channel's lease
  | "deliver"
  | "postpone" // the channel is on back-off
  | "refuse" // this one will not be taken, or its channel is dead
  | "suppress"; // the channel is deleted, disabled or not verified any more

type StateTable = Record<DeliveryStatus, Partial<Record<DeliveryEvent, DeliveryStatus>>>;

export const deliveryStates = {
  queued: { take: "sending", suppress: "suppressed" },
  sending: {
    take: "sending",
    deliver: "sent",
    postpone: "queued",
    refuse: "failed",
    suppress: "suppressed",
  },
  sent: {},
  failed: {},
  suppressed: {},
} as const satisfies StateTable;

/** Statuses from which an event leads on, for the condition of a statement. */
export function sourcesOf(event: DeliveryEvent): DeliveryStatus[] {
  const table: StateTable = deliveryStates;
  return (Object.keys(table) as DeliveryStatus[]).filter((status) => table[status][event] !== undefined);
}
