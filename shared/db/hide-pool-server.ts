/**
 * What went wrong with a server of the operator's pool, for those whose project it carries: that, and nothing of the
 * server. Its address, its host key and what its proxy says of other people's routes stand in the messages of the shell
 * and of the proxy; the cause keeps them for the platform's log. Rejected: messages without addresses for all, since
 * whoever owns the server needs them.
 */
import { Refusal } from "../domain/refusal.ts";
import { ShellFailure } from "../ports/shell.ts";

export const poolServerAway = "pool_server_unavailable";

/** Everything else passes as it is. */
export function hidePoolServer(error: unknown): unknown {
  const tells = error instanceof ShellFailure || (error instanceof Refusal && error.kind === "upstream");
  if (!tells) return error;
  return new Refusal(
    "upstream",
    poolServerAway,
    "The server of the pool that carries this project cannot be used at the moment. Try again later.",
    { cause: error },
  );
}
