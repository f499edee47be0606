/** What the mechanism itself keeps in `progress`, under a key of its own that stories neither see nor write. */
import type { OperationError } from "../domain/deployment.ts";

export const mechanismKey = "mechanism";

export interface Mechanism {
  /** Digest of state and progress when the last owner began. */
  mark?: string;
  /** Owners in a row that left the mark as they found it. */
  stalled?: number;
  /** Past the point of no return: a cancel is refused. */
  irrevocable?: boolean;
  /** The story is over and this is how it ends, once the work is undone. */
  ending?: Ending;
}

export interface Ending {
  how: "failed" | "cancelled";
  error: OperationError;
}
