/**
 * Follows a deployment to its end. The client takes a cut stream up again after the last event that was seen; here is
 * decided what "the end" is. Rejected: polling the row, which shows nothing of what happens in between.
 */
import { getDeployment, streamDeployment } from "../../shared/contract/deployments.ts";
import type { Api, StreamEvent } from "./connect.ts";
import type { Deployment } from "./shapes.ts";

/** Calls `onEvent` for each event, once and in order; answers the settled deployment. */
export async function followDeployment(
  api: Api,
  id: string,
  onEvent: (event: StreamEvent) => void,
  since = 0,
): Promise<Deployment> {
  let seen = since;
  for await (const event of api.events(streamDeployment, { params: { id }, query: { since } })) {
    // A repeated event would be a line twice.
    if (event.seq !== 0 && event.seq <= seen) continue;
    seen = Math.max(seen, event.seq);
    onEvent(event);
  }
  return (await api.call(getDeployment, { params: { id } })).data;
}
