/**
 * Refusals of use cases that ran in this process. They have the same codes as the API's; `conflict` means here that
 * nothing was changed. Known by their form, since the CLI imports nothing of the product but the contract.
 */
import { Failure } from "./failure.ts";

interface RefusalLike {
  kind?: unknown;
  code: string;
  message: string;
  details?: readonly { path: string; message: string }[];
}

export async function withRefusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const changedNothing = error.kind === "conflict" || error.kind === "validation";
    throw new Failure(changedNothing ? "usage" : "failed", error.code, error.message, {
      details: error.details,
      cause: error,
    });
  }
}

function isRefusal(error: unknown): error is RefusalLike {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    /^(Refusal|StartFailure)$/.test(error.name)
  );
}
