/** A new token is told to its maker and to who may see all tokens: one that nobody knows of is a break-in. */
import type { Transaction } from "../../shared/db/database.ts";
import { raiseAlert } from "../../shared/db/raise-alert.ts";

export async function announceToken(
  tx: Transaction,
  { id, name, organizationId, userId }: { id: string; name: string; organizationId: string; userId: string },
): Promise<void> {
  await raiseAlert(tx, {
    organizationId,
    userId,
    category: "token.created",
    title: `An access token was made: ${name}`,
    message: `If you do not know of it, revoke it at once: slipway token revoke ${id}`,
    resource: { type: "token", id },
  });
}
