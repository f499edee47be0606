/** What the row and the user get of whatever ended an operation of this module. Causes stay in the platform's log. */
import type { OperationError } from "../../shared/domain/deployment.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { Log } from "../../shared/ports/log.ts";
import { ShellFailure, type ShellFailureReason } from "../../shared/ports/shell.ts";
import { DeployFailure } from "./failure.ts";

const hints: Partial<Record<ShellFailureReason, { code: string; hint: string }>> = {
  host_key_changed: {
    code: "host_key_changed",
    hint: "Make sure that it is still your server, then confirm its new key with PUT /api/servers/:id/host-key.",
  },
  authentication: {
    code: "server_authentication_failed",
    hint: "Check the server's user and credential with POST /api/servers/:id/check.",
  },
  sudo: {
    code: "server_needs_root",
    hint: "Use root, or give the server's user password-less sudo.",
  },
};

export function explain(error: unknown, log: Log): OperationError {
  if ((error instanceof DeployFailure || error instanceof Refusal) && error.cause !== undefined) {
    log.info({ err: error.cause, code: error.code }, "a deployment failed");
  }
  if (error instanceof DeployFailure) {
    const { code, message, hint, logTail } = error;
    return { code, message, hint, logTail: [...logTail] };
  }
  if (error instanceof Refusal) {
    return { code: error.code, message: error.message, hint: null, logTail: [] };
  }
  if (error instanceof ShellFailure) {
    const known = hints[error.reason] ?? {
      code: "server_unreachable",
      hint: "Check the server, then deploy again.",
    };
    return { code: known.code, message: error.message, hint: known.hint, logTail: [] };
  }
  log.error({ error }, "a deployment failed for a reason of ours");
  const hint = "The platform's log has the reason; deploy again.";
  return { code: "internal", message: "Internal error.", hint, logTail: [] };
}
