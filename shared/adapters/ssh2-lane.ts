/**
 * The connections to one server for one kind of work: at most one in use, its channels handed out first come, first served.
 * A command that the server refuses for its MaxSessions (ssh2-pooled.ts) goes back to where it stood. After some failed connects in a
 * row it fails at once for a while with the same reason (breaker), so that a dead server costs its callers nothing.
 * Rejected: a connection a command (peers left sessions behind) and a fixed limit.
 */
import type { ClientChannel } from "ssh2";
import { ShellFailure, type ShellTarget } from "../ports/shell.ts";
import { type BreakerOptions, ConnectBreaker } from "./connect-breaker.ts";
import { type Patience, patience } from "./patience.ts";
import { startOnChannel } from "./ssh2-channel.ts";
import type { Connection } from "./ssh2-connection.ts";
import { Pooled } from "./ssh2-pooled.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface LaneOptions extends BreakerOptions {
  connect: (target: ShellTarget, signal: AbortSignal) => Promise<Connection>;
  /** Channels on one connection until a server says less; MaxSessions of OpenSSH is 10 unless configured. */
  channelLimit: number;
  idleMs: number;
  /** How long an ended channel may stay unconfirmed before its connection is given up. */
  stuckChannelMs: number;
}

/** A fresh connection is tried this often when one loses a channel before the command was sent. */
const freshStarts = 2;

export class Ssh2Lane {
  readonly #options: LaneOptions;
  readonly #all = new Set<Pooled>();
  readonly #waiting = new WaitingLine<ShellTarget, Pooled>();
  readonly #shutdown = new AbortController();
  #current: Pooled | undefined;
  #connecting = false;
  readonly #breaker: ConnectBreaker;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#breaker = new ConnectBreaker(options);
  }

  /**
   * Starts `line` on a channel and hands that to `begin`, in the same tick: a short command's exit may be in the very packet that
   * says that it started. The slot is given back when the server confirms that the channel is closed.
   */
  async start<T>(
    target: ShellTarget,
    line: string,
    signal: AbortSignal,
    begin: (channel: ClientChannel) => T,
  ): Promise<T> {
    const ticket = this.#waiting.ticket();
    for (let fresh = 0; ; ) {
      const pooled = await this.#slot(target, ticket, signal);
      const patient = this.#patience(pooled);
      const outcome = await startOnChannel(pooled.connection, line, signal, {
        opened: (channel) => this.#watch(pooled, channel, patient),
        begin,
        abandoned: patient.start,
        notOpened: (refused) => {
          patient.end();
          if (refused) {
            if (pooled.refused()) this.#retire(pooled);
          } else {
            pooled.released();
            this.#released(pooled);
          }
        },
      });
      if (typeof outcome === "object") {
        return outcome.begun;
      }
      // Refused beside others it waits for one of them to end; without a connection it starts afresh, but not for ever.
      if (!pooled.connection.isOpen() || pooled.retired) {
        fresh++;
      }
      if (fresh > freshStarts) {
        throw new ShellFailure("unreachable", "The server takes the connection but opens no session on it.");
      }
    }
  }

  counts(): { connections: number; channels: number } {
    return {
      connections: this.#all.size,
      channels: [...this.#all].reduce((sum, pooled) => sum + pooled.open, 0),
    };
  }

  /** Ends everything: waiting commands are refused, running ones lose their connection. Resolves when all sockets are gone. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#shutdown.abort(closedHere());
    for (const waiter of this.#waiting.all()) {
      waiter.refuse(closedHere());
    }
    const open = [...this.#all].map(({ connection }) => connection);
    for (const connection of open) connection.end();
    await Promise.all(open.map(({ closed }) => closed));
  }

  #slot(target: ShellTarget, ticket: number, signal: AbortSignal): Promise<Pooled> {
    if (this.#shutdown.signal.aborted) {
      return Promise.reject(closedHere());
    }
    const slot = this.#waiting.join(target, ticket, signal, () => this.#pump());
    this.#pump();
    return slot;
  }

  /** Serves the queue as far as connection and limit allow. Called after every change. */
  #pump(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const waiter = this.#waiting.first();
      const pooled = this.#usable(waiter?.ask.revision);
      if (waiter === undefined) {
        this.#endWhenIdle(pooled);
        return;
      }
      if (pooled === undefined) {
        this.#connect(waiter.ask);
        return;
      }
      if (pooled.isFull()) {
        return;
      }
      const pauseMs = pooled.pauseMs();
      if (pauseMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), pauseMs);
        return;
      }
      pooled.open++;
      waiter.grant(pooled);
    }
  }

  #usable(revision: string | undefined): Pooled | undefined {
    const pooled = this.#current;
    if (pooled === undefined) {
      return undefined;
    }
    if (!pooled.connection.isOpen() || (revision !== undefined && pooled.revision !== revision)) {
      this.#retire(pooled);
      return undefined;
    }
    return pooled;
  }

  #endWhenIdle(pooled: Pooled | undefined): void {
    if (pooled !== undefined && pooled.open === 0 && !this.#shutdown.signal.aborted) {
      this.#timer = setTimeout(() => this.#retire(pooled), this.#options.idleMs);
      this.#timer.unref();
    }
  }

  #connect(target: ShellTarget): void {
    if (this.#connecting) {
      return;
    }
    const { refusal, pauseMs } = this.#breaker.ask(target.revision);
    if (refusal !== undefined) {
      this.#refuseAll(target.revision, refusal);
      return;
    }
    if (pauseMs > 0) {
      this.#timer = setTimeout(() => this.#pump(), pauseMs);
      return;
    }
    this.#connecting = true;
    this.#options.connect(target, this.#shutdown.signal).then(
      (connection) => this.#connected(target, connection),
      (error: unknown) => this.#failed(target, error),
    );
  }

  #connected(target: ShellTarget, connection: Connection): void {
    this.#connecting = false;
    this.#breaker.succeeded();
    const { channelLimit, nowMs } = this.#options;
    const pooled = new Pooled(connection, target.revision, channelLimit, nowMs);
    this.#all.add(pooled);
    this.#current = pooled;
    connection.closed.then(() => {
      this.#all.delete(pooled);
      if (this.#current === pooled) {
        this.#current = undefined;
      }
      this.#pump();
    });
    if (this.#shutdown.signal.aborted) {
      connection.end();
    }
    this.#pump();
  }

  #failed(target: ShellTarget, error: unknown): void {
    this.#connecting = false;
    const reason =
      error instanceof ShellFailure
        ? error
        : new ShellFailure("unreachable", "The server could not be connected.", { cause: error });
    this.#breaker.failed(target.revision, reason);
    this.#refuseAll(target.revision, reason);
    this.#pump();
  }

  #refuseAll(revision: string, reason: ShellFailure): void {
    for (const waiter of this.#waiting.all().filter((each) => each.ask.revision === revision)) {
      waiter.refuse(new ShellFailure(reason.reason, reason.message, { cause: reason.cause }));
    }
  }

  #patience(pooled: Pooled): Patience {
    return patience(this.#options.stuckChannelMs, {
      began: () => {
        pooled.stuck++;
        this.#retire(pooled);
        this.#pump();
      },
      ended: () => {
        pooled.stuck--;
      },
    });
  }

  /** Gives the slot back when the channel is closed on both sides. */
  #watch(pooled: Pooled, channel: ClientChannel, patient: Patience): void {
    const close = channel.close.bind(channel);
    channel.close = (...rest): void => {
      close(...rest);
      patient.start();
    };
    channel.once("close", () => {
      patient.end();
      pooled.served();
      this.#released(pooled);
    });
  }

  #released(pooled: Pooled): void {
    if (pooled.retired) {
      this.#retire(pooled);
    }
    this.#pump();
  }

  /** No new commands; closed once its commands are over. A channel that the server does not let go of is not waited for. */
  #retire(pooled: Pooled): void {
    pooled.retired = true;
    if (this.#current === pooled) {
      this.#current = undefined;
    }
    if (pooled.open <= pooled.stuck) {
      pooled.connection.end();
    }
  }
}

function closedHere(): ShellFailure {
  return new ShellFailure("aborted", "The connections to this server were closed here.");
}
