/**
 * How long a server may take to let go of a channel that is over for us. Usually it does at once; one that never does would keep its slot
 * for good, so after a while the channel counts as stuck. Rejected: freeing the slot at once (the server would refuse the next one).
 */
export interface Patience {
  /** From now on; a second call changes nothing. */
  start(): void;
  /** It has let go, or the channel never came to be. */
  end(): void;
}

export function patience(limitMs: number, stuck: { began(): void; ended(): void }): Patience {
  let timer: NodeJS.Timeout | undefined;
  let isStuck = false;
  return {
    start: () => {
      timer ??= setTimeout(() => {
        isStuck = true;
        stuck.began();
      }, limitMs).unref();
    },
    end: () => {
      clearTimeout(timer);
      if (isStuck) {
        isStuck = false;
        stuck.ended();
      }
    },
  };
}
