/**
 * A deploy module that follows a script: what a deployment ends as, which lines it says, where its stream is cut. Only
 * for what the real one cannot be made to do on demand.
 */
import type { Deployment } from "../../cli/api/shapes.ts";
import { newId } from "../../shared/domain/identifier.ts";

export interface Script {
  ends: Pick<Deployment, "status" | "error" | "urls">;
  lines: string[];
  /** The connection breaks once after this many events. */
  cutAfter?: number;
  /** Nothing more comes after the lines. */
  hangs?: boolean;
}

export function scriptedDeploy() {
  const deployments: Deployment[] = [];
  const asked: { method: string; path: string; body: unknown }[] = [];
  let script: Script = {
    ends: { status: "ready", error: null, urls: ["http://shop.localhost"] },
    lines: ["hello"],
  };
  let cut = false;

  const fetch = async (request: Request): Promise<Response> => {
    const { pathname: path, searchParams } = new URL(request.url);
    const text = await request.text();
    asked.push({ method: request.method, path, body: text === "" ? undefined : JSON.parse(text) });
    const [, id, action] = /^\/api\/deployments(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(path) ?? [];
    if (id === undefined && request.method === "POST") {
      return Response.json(
        { data: add((JSON.parse(text) as { projectId: string }).projectId) },
        { status: 202 },
      );
    }
    if (id === undefined) return Response.json({ data: listed(searchParams), nextCursor: null });
    const found = deployments.find((one) => one.id === id);
    if (found === undefined) return Response.json({ error: "Absent.", code: "not_found" }, { status: 404 });
    if (action === "stream")
      return stream(found, Number(request.headers.get("last-event-id") ?? 0), request.signal);
    if (action === "rollback") return Response.json({ data: add(found.projectId) }, { status: 202 });
    if (action === "logs") return Response.json({ data: script.lines.map(logData), nextCursor: null });
    return Response.json({ data: found });
  };

  return {
    fetch,
    deployments,
    asked,
    follow(next: Partial<Script>) {
      script = { ...script, ...next };
      cut = false;
    },
    add,
  };

  function listed(query: URLSearchParams): Deployment[] {
    const own = deployments.filter(({ projectId }) => [projectId, null].includes(query.get("projectId")));
    return own.toReversed().slice(0, Number(query.get("limit") ?? 50));
  }

  function add(projectId: string, over: Partial<Deployment> = {}): Deployment {
    const deployment = { ...blank(projectId), ...over };
    deployments.push(deployment);
    return deployment;
  }

  function stream(deployment: Deployment, since: number, signal: AbortSignal): Response {
    const events = [
      ...script.lines.map((line, index) => ({ event: "log", data: logData(line, index) })),
      ...(script.hangs
        ? []
        : [{ event: "complete", data: { status: script.ends.status, error: script.ends.error } }]),
    ];
    const until = script.cutAfter !== undefined && !cut ? script.cutAfter : events.length;
    const breaks = until < events.length;
    cut = true;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        events.forEach(({ event, data }, index) => {
          if (index < since || index >= until) return;
          const frame = `id: ${index + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
          controller.enqueue(new TextEncoder().encode(frame));
        });
        if (breaks) controller.error(new Error("cut by the script"));
        else if (script.hangs) signal.addEventListener("abort", () => controller.close(), { once: true });
        else controller.close();
        if (!breaks && !script.hangs) settle(deployment);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  function settle(deployment: Deployment): void {
    Object.assign(deployment, script.ends, {
      finishedAt: new Date(Date.parse(deployment.createdAt) + 1_500).toISOString(),
    });
  }
}

function logData(line: string, index: number) {
  return { seq: index + 1, at: new Date(0).toISOString(), stream: "stdout", phase: "build", line };
}

function blank(projectId: string): Deployment {
  return {
    id: newId("deployment"),
    projectId,
    status: "queued",
    decision: "none",
    trigger: "cli",
    branch: "main",
    commitSha: "a".repeat(40),
    commitMessage: "a change",
    urls: [],
    isActive: false,
    pinned: false,
    artifact: "none",
    mode: null,
    createdAt: new Date().toISOString(),
    startedAt: null,
    finishedAt: null,
    phases: {},
    error: null,
    rollbackOf: null,
    deliveryId: null,
    createdBy: null,
  };
}
