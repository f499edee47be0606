/** The checks of `slipway doctor` that go through the API: what it answers, and what its metrics say needs a person. */
import { type Finding, fail, ok, warn } from "../../shared/contract/finding.ts";
import { metrics, ready } from "../../shared/contract/system.ts";
import { Failure } from "../frame/failure.ts";
import type { Api } from "./connect.ts";

export async function checkOnline(api: Api): Promise<Finding[]> {
  try {
    await api.call(ready, {});
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const hint = 'Look at the platform\'s log; on its machine run "slipway doctor --offline".';
    return [fail("api", `${api.url}: ${error.message}`, error.hint ?? hint)];
  }
  const answers = ok("api", `${api.url} is ready.`);
  try {
    return [answers, ...fromMetrics(await api.text(metrics))];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status !== 403 && error.status !== 404) {
      return [answers, fail("api_metrics", error.message, error.hint ?? "Look at the platform's log.")];
    }
    const hint = "Use a token with the permission organization:read.";
    return [answers, warn("api_metrics", "The metrics of this instance are not shown to this token.", hint)];
  }
}

function fromMetrics(text: string): Finding[] {
  if (!text.includes("\nslipway_operations_ownerless ")) {
    const hint = "Its database did not answer in time; look at the platform's log.";
    return [warn("api_metrics", "The instance could not say what waits in its database.", hint)];
  }
  const failed = readSeries(text, 'slipway_deliveries{status="failed"}');
  const lost = readSeries(text, "slipway_deliveries_without_project");
  const dead = readSeries(text, "slipway_queue_dead");
  const ownerless = readSeries(text, "slipway_operations_ownerless");
  return [
    failed + lost === 0
      ? ok("api_deliveries", "None failed in the last 24 hours.")
      : warn(
          "api_deliveries",
          `In the last 24 hours ${failed} failed and ${lost} matched no project.`,
          "Failed ones are tried again by themselves. For the others compare repositories with those of the projects.",
        ),
    dead === 0
      ? ok("api_queue", "No message was given up.")
      : warn(
          "api_queue",
          `${dead} messages were given up; the work that they were for goes on without them.`,
          'Look for "handling a message failed" in the platform\'s log.',
        ),
    ownerless === 0
      ? ok("api_operations", "None is stuck.")
      : fail(
          "api_operations",
          `${ownerless} in flight without anyone at work on them.`,
          'Run "slipway doctor --offline" on the machine of the platform: it names them.',
        ),
  ];
}

/** Of one series; 0 where it is not there, which is how an empty count is written. */
function readSeries(text: string, series: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}
