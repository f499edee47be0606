/** A server that could not be asked, as the API says it: 502 with the reason (decisions.md section 1). */
import { Refusal } from "../../shared/domain/refusal.ts";
import { ShellFailure } from "../../shared/ports/shell.ts";

/** Runs `work`; what the far side failed with becomes a refusal, everything else passes. */
export async function askingServer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ShellFailure)
      throw new Refusal("upstream", error.reason, error.message, { cause: error });
    throw error;
  }
}
