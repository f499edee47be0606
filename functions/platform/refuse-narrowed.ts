/**
 * What a narrowed token may not do although it holds the tag: make what would lie outside its own narrowing, or change
 * what others share with it. It could otherwise not be handed out safely.
 */
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";

type Narrowing = "projectIds" | "serverIds";

const words: Record<Narrowing, string> = { projectIds: "projects", serverIds: "servers" };

/** `what` ends the sentence "A token that is narrowed to some projects cannot …". */
export function refuseNarrowed(
  principal: Principal,
  what: string,
  by: readonly Narrowing[] = ["projectIds", "serverIds"],
): void {
  const found = by.find((each) => principal[each] !== null);
  if (found === undefined) return;
  throw new Refusal(
    "forbidden",
    "narrowed_token",
    `A token that is narrowed to some ${words[found]} cannot ${what}.`,
  );
}
