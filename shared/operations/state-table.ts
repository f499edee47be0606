/**
 * The only way from one state to the next. A pair that the table does not list is refused, whoever asks: a late result
 * can therefore never overwrite a final status. Rejected: `if` chains in the stories (they disagree after a year).
 */
import type { AnyOperationKind, StateTable } from "./definition.ts";

/** A bug of the caller: the table does not list this pair. */
export class TransitionRefused extends Error {
  constructor(state: string, event: string) {
    super(`An operation in state "${state}" takes no event "${event}"`);
    this.name = "TransitionRefused";
  }
}

/** The state that `event` leads to. Throws `TransitionRefused`. */
export function next<State extends string, Event extends string>(
  table: StateTable<State, Event>,
  state: State,
  event: Event,
): State {
  const to = lookUp(table, state, event);
  if (to === undefined) {
    throw new TransitionRefused(state, event);
  }
  return to;
}

/** Whether the table lists the pair. */
export function allows<State extends string, Event extends string>(
  table: StateTable<State, Event>,
  state: State,
  event: Event | null,
): event is Event {
  return event !== null && lookUp(table, state, event) !== undefined;
}

/** A row of an older version may be in a state that has left the table since. */
export function knows(kind: AnyOperationKind, state: string): boolean {
  return Object.hasOwn(kind.states, state);
}

/**
 * The state that stands for this one in the table: itself, or the initial one for a state that has left it. From there
 * the events that end an operation lead where they should; whoever moves a row takes no other from such a state.
 */
export function standIn(kind: AnyOperationKind, state: string, event: string | null): string {
  const { failed, cancelled, superseded } = kind.mechanism;
  const ends = event !== null && [failed, cancelled, superseded].includes(event);
  return ends && !knows(kind, state) ? kind.initial : state;
}

/** Throws for a kind that could get stuck: checked once, when a runner is made, so that it never runs at all. */
export function checkKind(kind: AnyOperationKind): void {
  const complain = (what: string) => {
    throw new Error(`Operation kind "${kind.kind}": ${what}`);
  };
  const { failed, cancelled, superseded } = kind.mechanism;
  for (const [state, events] of Object.entries(kind.states)) {
    if (kind.final.has(state)) {
      continue;
    }
    if (!allows(kind.states, state, failed)) {
      complain(`state "${state}" has no way to fail`);
    }
    for (const event of [failed, cancelled, superseded]) {
      const to = event === null ? undefined : events[event];
      if (to !== undefined && !kind.final.has(to)) {
        complain(`"${event}" leads from "${state}" to "${to}", which is not final`);
      }
    }
  }
  if (superseded !== null && !allows(kind.states, kind.initial, superseded)) {
    complain(`"${superseded}" is not allowed in "${kind.initial}"`);
  }
}

function lookUp<State extends string, Event extends string>(
  table: StateTable<State, Event>,
  state: State,
  event: Event,
): State | undefined {
  return Object.hasOwn(table, state) && Object.hasOwn(table[state], event) ? table[state][event] : undefined;
}
