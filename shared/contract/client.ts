/**
 * The typed client of the CLI, the dashboard and the tests: a call takes a route object and what its schemas ask for,
 * and answers what they promise. Rejected: the web framework's own client, which needs the type of a whole app and so
 * would tie the CLI to the functions.
 */
import type { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";
import { readEvents, type ServerEvent } from "./event-stream.ts";
import type { RoutePolicy } from "./route.ts";

export interface ClientOptions {
  /** Origin of the platform: `https://slipway.example`. */
  baseUrl: string;
  token: string;
  fetch?: (request: Request) => Promise<Response>;
  /** For a call that is no stream. Default 120 s. */
  timeoutMs?: number;
}

/** The platform refused: `code` is stable, `message` is for a person. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: { path: string; message: string }[];

  constructor(status: number, body: { error?: unknown; code?: unknown; details?: unknown }) {
    super(typeof body.error === "string" ? body.error : `The platform answered ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "unknown";
    this.details = Array.isArray(body.details) ? body.details : [];
  }
}

/** The platform could not be asked, or its answer was cut off. */
export class ApiUnreachable extends Error {
  constructor(baseUrl: string, cause: unknown) {
    super(`No answer from ${baseUrl}. Is the platform running there?`, { cause });
    this.name = "ApiUnreachable";
  }
}

export interface Client {
  call<R extends AnyRoute>(route: R, ...input: Arguments<R>): Promise<Success<R>>;
  /** A call whose answer is plain text. */
  text(route: AnyRoute, input?: { signal?: AbortSignal }): Promise<string>;
  /** Events of a stream, taken up again behind the last one after a cut, until the stream says `complete`. */
  stream<R extends AnyRoute>(route: R, ...input: Arguments<R>): AsyncIterable<ServerEvent>;
}

const defaultTimeoutMs = 120_000;
/** The instance gives up first, and says so. */
const uploadTimeoutMs = limits.uploadMs + defaultTimeoutMs;

export function createClient(options: ClientOptions): Client {
  const send = async (
    route: AnyRoute,
    input: AnyInput,
    headers: Record<string, string>,
    signal: AbortSignal,
  ) => {
    const request = requestOf(options, route, input, headers, signal);
    const answer = await (options.fetch ?? fetchOf(input))(request).catch((cause: unknown) => {
      input.signal?.throwIfAborted();
      throw new ApiUnreachable(options.baseUrl, cause);
    });
    if (!answer.ok) throw new ApiError(answer.status, await errorBody(answer));
    return answer;
  };
  const whole = async (route: AnyRoute, input: AnyInput, accept: string): Promise<string> => {
    const { signal, body } = input;
    const timeoutMs = body === undefined ? defaultTimeoutMs : uploadTimeoutMs;
    const deadline = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
    const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    const answer = await send(route, input, { accept }, both);
    return answer.text().catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new ApiUnreachable(options.baseUrl, cause);
    });
  };
  return {
    async call(route, ...[input = {}]) {
      const text = await whole(route, input as AnyInput, "application/json");
      return parsed(text, options.baseUrl) as Success<typeof route>;
    },
    text: (route, input = {}) => whole(route, input, "text/plain"),
    stream(route, ...[input = {}]) {
      const { signal = new AbortController().signal } = input as AnyInput;
      return readEvents({
        signal,
        resumes: route.method === "get",
        mayPass: (error) =>
          error instanceof ApiUnreachable ||
          (error instanceof ApiError && [502, 503, 504].includes(error.status)),
        open: (lastEventId) => {
          const resume = lastEventId === null ? {} : { "last-event-id": lastEventId };
          return send(route, input, { accept: "text/event-stream", ...resume }, signal);
        },
      });
    },
  };
}

/** A streamed body goes once: else Node's fetch keeps all of it, to send it again after a redirect. */
function fetchOf({ body }: AnyInput): (request: Request) => Promise<Response> {
  const once = { redirect: "error", window: null, duplex: "half" } as const;
  return body === undefined ? fetch : (request) => fetch(request, once as RequestInit);
}

function requestOf(
  options: ClientOptions,
  route: AnyRoute,
  input: AnyInput,
  headers: Record<string, string>,
  signal: AbortSignal,
): Request {
  const path = route.path.replace(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String(input.params?.[name] ?? "")),
  );
  const url = new URL(path, options.baseUrl);
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const json = input.json === undefined ? null : JSON.stringify(input.json);
  const type = input.body !== undefined ? "application/gzip" : json !== null ? "application/json" : null;
  const init = {
    method: route.method.toUpperCase(),
    headers: {
      authorization: `Bearer ${options.token}`,
      ...headers,
      ...(type === null ? {} : { "content-type": type }),
    },
    body: input.body ?? json,
    signal,
    ...(input.body === undefined ? {} : { duplex: "half" }),
  };
  return new Request(url, init as RequestInit);
}

/** Some other program may listen where the platform is thought to be. */
function parsed(text: string, baseUrl: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiUnreachable(baseUrl, cause);
  }
}

/** Not every refusal on the way is ours: a proxy in between answers in HTML. */
async function errorBody(answer: Response): Promise<Record<string, unknown>> {
  const text = await answer.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

interface AnyRoute {
  method: string;
  path: string;
  policy: RoutePolicy;
  request?: unknown;
  responses: object;
}

interface AnyInput {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  json?: unknown;
  body?: ReadableStream<Uint8Array>;
  signal?: AbortSignal;
}

type InputOf<S> = S extends z.ZodType ? z.input<S> : never;

type Params<R> = R extends { request: { params: infer S } } ? { params: InputOf<S> } : object;
type Query<R> = R extends { request: { query: infer S } }
  ? object extends InputOf<S>
    ? { query?: InputOf<S> }
    : { query: InputOf<S> }
  : object;
type Json<R> = R extends { request: { body: { content: { "application/json": { schema: infer S } } } } }
  ? R extends { request: { body: { required: true } } }
    ? { json: InputOf<S> }
    : { json?: InputOf<S> }
  : object;

/** A body that is sent as it comes: its route says so. */
type Raw<R> = R extends { request: { body: { content: { "application/gzip": unknown } } } }
  ? { body: ReadableStream<Uint8Array> }
  : object;

/** What a call of the route takes. */
export type Input<R> = Params<R> & Query<R> & Json<R> & Raw<R> & { signal?: AbortSignal };
type Arguments<R> = object extends Input<R> ? [input?: Input<R>] : [input: Input<R>];

type BodyOf<A> = A extends { content: { "application/json": { schema: infer S } } }
  ? S extends z.ZodType
    ? z.output<S>
    : never
  : never;

type Good = 200 | 201 | 202;

/** What a call of the route answers. */
export type Success<R> = R extends { responses: infer A }
  ? { [K in keyof A]: K extends Good ? BodyOf<A[K]> : never }[keyof A]
  : never;
