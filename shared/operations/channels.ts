/** Channels of NOTIFY; every payload is the id of an operation. A message is a hint, the row is the authority. */
export const channels = {
  /** Its log has grown. */
  events: "operation_events",
  /** It may start, or start again. */
  due: "operations_due",
  /** Of a delivery instead: it waits to be forwarded to the cloud. */
  forwards: "deliveries_to_forward",
  /** A person asked to cancel it. */
  cancels: "operation_cancels",
} as const;
