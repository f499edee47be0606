/**
 * What fills a server's disk, in bytes. The engine is asked over its socket, since its client prints sizes for people
 * ("1.2GB"); images are told to projects by the label that every build of ours carries.
 */
import { and, eq, inArray } from "drizzle-orm";
import { z } from "zod";
import { seenProjects } from "../../shared/db/narrowing.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { serverTarget } from "../../shared/db/server-target.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { askingServer } from "./far-side.ts";
import type { PlatformParts } from "./parts.ts";

/** First line: bytes of the file system, all and free. Then, where an engine answers, its JSON. */
const diskScript = `
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:/usr/local/bin"
place=/var/lib
for each in /var/lib/docker /var/lib/containers; do [ ! -d "$each" ] || { place=$each; break; }; done
df -P -B1 "$place" | awk 'NR==2 { printf "%.0f %.0f\\n", $2, $4 }'
for socket in /var/run/docker.sock /run/podman/podman.sock; do
  [ -S "$socket" ] || continue
  curl --silent --fail --max-time 25 --unix-socket "$socket" http://localhost/system/df && break
done
exit 0
`;

const askMs = 40_000;
/** Some 10,000 images. */
const answerBytes = 16 * 1024 * 1024;

export async function readServerDisk(parts: PlatformParts, principal: Principal, id: string) {
  const server = await load(parts.db, principal, "server", id);
  const { stdout } = await askingServer(() =>
    parts.shell.run(serverTarget(server, parts.sealer), {
      argv: ["sh", "-c", diskScript],
      asRoot: true,
      deadlineMs: askMs,
      maxOutputBytes: answerBytes,
    }),
  );
  const { ours, ...bytes } = readDisk(stdout);
  const ids = [...ours.keys()];
  const known = await parts.db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, principal.organizationId),
        inArray(projects.id, ids),
        seenProjects(principal),
      ),
    );
  const shown = known.flatMap(({ id: projectId, name }) => {
    const found = ours.get(projectId);
    return found === undefined ? [] : [{ projectId, name, ...found }];
  });
  return { ...bytes, projects: shown.sort((a, b) => b.imageBytes - a.imageBytes) };
}

const size = z.number().int().catch(0);
const list = <S extends z.ZodType>(item: S) => z.array(item).nullish();

/** What `/system/df` of Docker and of Podman answers, as far as it is read here. */
const usage = z.object({
  LayersSize: size,
  Images: list(
    z.object({ Size: size, SharedSize: size, Labels: z.record(z.string(), z.string()).nullish() }),
  ),
  Containers: list(z.object({ SizeRw: size })),
  Volumes: list(z.object({ UsageData: z.object({ Size: size }).nullish() })),
  BuildCache: list(z.object({ Size: size, Shared: z.boolean().catch(false) })),
});

type Usage = z.infer<typeof usage>;

export interface Disk {
  totalBytes: number;
  freeBytes: number;
  imageBytes: number | null;
  containerBytes: number | null;
  volumeBytes: number | null;
  buildCacheBytes: number | null;
  /** By project. */
  ours: Map<string, { images: number; imageBytes: number }>;
}

/** Reads what the script said. A server that says something else is one that refused: 502. */
export function readDisk(output: string): Disk {
  const end = output.indexOf("\n");
  const [, total, free] = /^(\d{1,16}) (\d{1,16})$/.exec(output.slice(0, end)) ?? [];
  if (total === undefined || free === undefined) {
    throw new Refusal("upstream", "unexpected_answer", "The server did not say how full its disk is.");
  }
  const disk = { totalBytes: Number(total), freeBytes: Number(free) };
  const engine = parseUsage(output.slice(end + 1));
  if (engine === null) {
    const unknown = { imageBytes: null, containerBytes: null, volumeBytes: null, buildCacheBytes: null };
    return { ...disk, ...unknown, ours: new Map() };
  }
  return {
    ...disk,
    imageBytes: engine.LayersSize,
    containerBytes: sum(engine.Containers, ({ SizeRw }) => SizeRw),
    volumeBytes: sum(engine.Volumes, ({ UsageData }) => UsageData?.Size ?? 0),
    buildCacheBytes: sum(engine.BuildCache, ({ Size, Shared }) => (Shared ? 0 : Size)),
    ours: byProject(engine.Images ?? []),
  };
}

function parseUsage(text: string): Usage | null {
  try {
    return usage.safeParse(JSON.parse(text)).data ?? null;
  } catch (error) {
    // No engine, or an answer that was cut: the sizes are unknown then, and the file system's are still good.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** An engine says -1 for what it has not measured. */
function sum<T>(items: readonly T[] | null | undefined, of: (item: T) => number): number {
  return (items ?? []).reduce((all, item) => all + Math.max(0, of(item)), 0);
}

function byProject(images: NonNullable<Usage["Images"]>): Disk["ours"] {
  const ours: Disk["ours"] = new Map();
  for (const image of images) {
    const projectId = image.Labels?.["slipway.project"];
    if (projectId === undefined) continue;
    const before = ours.get(projectId) ?? { images: 0, imageBytes: 0 };
    const own = Math.max(0, image.Size - Math.max(0, image.SharedSize));
    ours.set(projectId, { images: before.images + 1, imageBytes: before.imageBytes + own });
  }
  return ours;
}
