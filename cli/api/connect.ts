/**
 * The API as the commands see it: the contract's typed client, with every failure turned into a sentence and an exit
 * code. This is the only file that knows the client.
 */
import { ApiError, ApiUnreachable, type Client, createClient } from "../../shared/contract/client.ts";
import type { streamDeployment } from "../../shared/contract/deployments.ts";
import type { bootstrapServer } from "../../shared/contract/servers.ts";
import type { metrics } from "../../shared/contract/system.ts";
import type { Context } from "../frame/context.ts";
import { Failure, interrupted } from "../frame/failure.ts";
import { currentLogin, type Login } from "./credentials.ts";

export interface StreamEvent {
  type: string;
  /** 0 where the stream gives none. */
  seq: number;
  data: Record<string, unknown>;
}

export interface Api {
  url: string;
  call: Client["call"];
  /** A route that answers plain text. */
  text: (route: typeof metrics) => Promise<string>;
  /** A stream up to its `complete`. The client takes it up again after a cut. */
  events: (
    route: typeof streamDeployment | typeof bootstrapServer,
    input: { params: { id: string }; query?: { since: number } },
  ) => AsyncGenerator<StreamEvent, void, undefined>;
}

/** The API as the present login. */
export async function connect(context: Context): Promise<Api> {
  const login = await currentLogin(context.environment);
  if (login === undefined) {
    throw new Failure("notLoggedIn", "not_logged_in", "Nobody is logged in.", {
      hint: "Run `slipway login URL`, or set SLIPWAY_URL and SLIPWAY_TOKEN.",
    });
  }
  return connectTo(login, context);
}

export function connectTo({ url, token }: Login, { signal }: Pick<Context, "signal">): Api {
  const client = createClient({ baseUrl: url, token });
  /** Ctrl-C ends what is under way. */
  const withSignal = <T extends unknown[]>(input: T) => [{ ...(input[0] as object), signal }] as unknown as T;
  return {
    url,
    call: async (route, ...input) => {
      try {
        return await client.call(route, ...withSignal(input));
      } catch (error) {
        throw failureOf(error, url, signal);
      }
    },
    text: async (route) => {
      try {
        return await client.text(route, { signal });
      } catch (error) {
        throw failureOf(error, url, signal);
      }
    },
    async *events(route, input) {
      try {
        for await (const { id, event, data } of client.stream(route, { ...input, signal })) {
          const fields = typeof data === "object" && data !== null ? { ...data } : { text: data };
          yield { type: event, seq: Number(id ?? 0), data: fields };
        }
      } catch (error) {
        throw failureOf(error, url, signal);
      }
    },
  };
}

/** Every page of a list, up to `most` things. */
export async function everything<T>(
  page: (query: { limit: number; cursor?: string }) => Promise<{ data: T[]; nextCursor: string | null }>,
  most = 10_000,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.max(1, Math.min(200, most - all.length));
    const { data, nextCursor }: { data: T[]; nextCursor: string | null } = await page(
      cursor === null ? { limit } : { limit, cursor },
    );
    all.push(...data);
    cursor = nextCursor;
  } while (cursor !== null && all.length < most);
  return all.slice(0, most);
}

function failureOf(error: unknown, url: string, signal: AbortSignal): unknown {
  if (error instanceof Failure) return error;
  if (signal.aborted) return interrupted();
  if (error instanceof ApiError) return refused(error);
  if (error instanceof ApiUnreachable) return unreachable(error.message, error);
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return unreachable(`${url} did not answer in time.`, error);
  }
  // The body was cut off, or is no JSON although the status says that all is well.
  if (error instanceof TypeError) return unreachable(`The answer of ${url} was cut off.`, error);
  if (error instanceof SyntaxError)
    return unreachable(`What answers at ${url} is no Slipway instance.`, error);
  return error;
}

function refused(error: ApiError): Failure {
  const { status, code, message } = error;
  const details = error.details.length === 0 ? undefined : error.details;
  if (status === 401) {
    return new Failure("notLoggedIn", code, message, { status, hint: "Run `slipway login` again." });
  }
  return new Failure("failed", code, message, { status, details });
}

function unreachable(message: string, cause: unknown): Failure {
  return new Failure("unreachable", "unreachable", message, { cause });
}
