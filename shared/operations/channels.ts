/** Channels of NOTIFY; every payload is the id of an operation. A message is a hint, the row is the authority. */
export const channels = {
  /** Its log has grown. */
  events: "operation_events",
  /** It may start, or start again. */
  due: "operations_due",
  /** A person asked to cancel it. */
  cancels: "operation_cancels",
} as const;
