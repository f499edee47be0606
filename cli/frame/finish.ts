/** The end of commands that start a deployment: what is printed, and which exit code it is worth. */
import type { Api } from "../api/connect.ts";
import { followDeployment } from "../api/follow-deployment.ts";
import type { Deployment } from "../api/shapes.ts";
import { endingText, eventText } from "../terminal/deployment-text.ts";
import { plainText } from "../terminal/text.ts";
import type { Context } from "./context.ts";
import { Failure } from "./failure.ts";

/**
 * The end of a command that started a deployment: with `follow` its story until it settled, else where to look. Throws
 * when it did not succeed, so that scripts see exit code 1.
 */
export async function finish(
  api: Api,
  context: Context,
  started: Deployment,
  follow: boolean,
): Promise<void> {
  const { output } = context;
  if (!follow) {
    output.result(
      started,
      () => `Started ${started.id}. Follow it with \`slipway logs --follow ${started.id}\`.`,
    );
    return;
  }
  output.note(`Deployment ${plainText(started.id)}`);
  const settled = await followDeployment(api, started.id, (event) => {
    const line = eventText(event, output);
    if (line !== undefined) output.text(line);
  });
  output.result(settled, () => endingText(settled, output));
  failUnlessGood(settled, output.json);
}

/** Ends that a script must notice. A skipped deployment changed nothing because nothing had to change. */
export function failUnlessGood(settled: Deployment, json: boolean): void {
  if (settled.status === "ready" || settled.status === "skipped") return;
  const message = settled.error?.message ?? `The deployment ended ${settled.status}.`;
  const hint = settled.error?.hint;
  throw new Failure("failed", settled.error?.code ?? `deployment_${settled.status}`, message, {
    // A person has read both above the log's tail already.
    ...(json && hint ? { hint } : {}),
  });
}
