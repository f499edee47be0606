/**
 * The product's worker, which a test gives its settings with each request: one runtime serves all tests. Nothing else
 * is changed but the cap of uploads and the time of a body. Each edge has a shield of its own, as each test has a limiter of its own on the other host.
 */
import worker from "../../../edge/worker.ts";
import type { WorkerEnvironment } from "../../../edge/worker-environment.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { deliveryBodyMsOnWorkerd, uploadBytesOnWorkerd } from "./upload-cap.ts";

// 300 MB through three processes would take a minute of every run, and so would a minute.
Object.assign(limits, { uploadBytes: uploadBytesOnWorkerd, deliveryBodyMs: deliveryBodyMsOnWorkerd });

type Context = Parameters<typeof worker.fetch>[2];
type Shield = { limit(options: { key: string }): Promise<{ success: boolean }> };

const environments = new Map<string, WorkerEnvironment>();
const settingsHeader = "x-test-settings";

export default {
  fetch(request: Request, environment: WorkerEnvironment, context: Context): Promise<Response> {
    const settings = request.headers.get(settingsHeader);
    if (settings === null) return worker.fetch(request, environment, context);
    const headers = new Headers(request.headers);
    headers.delete(settingsHeader);
    return worker.fetch(
      new Request(request, { headers, signal: request.signal }),
      environmentOf(settings, environment),
      context,
    );
  },
};

function environmentOf(settings: string, { SHIELD }: WorkerEnvironment): WorkerEnvironment {
  const known = environments.get(settings);
  if (known !== undefined) return known;
  const shield = SHIELD as Shield;
  const own = `${environments.size} `;
  const made = {
    ...(JSON.parse(settings) as Record<string, string>),
    SHIELD: { limit: ({ key }: { key: string }) => shield.limit({ key: own + key }) },
  };
  environments.set(settings, made);
  return made;
}
