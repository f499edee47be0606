/**
 * The short forms of compose files: ports, volumes, paths to watch. Narrower than compose where that would reach the
 * host: a volume is a named one or a path inside the repository, never one of the server, its engine's socket included.
 */
import { z } from "@hono/zod-openapi";
import { limits } from "../domain/limits.ts";

/** Absolute and plain, so that it can stand in an argument of the engine's client without meaning anything else. */
const containerPath = String.raw`(?:/(?!\.{1,2}(?:/|:|$))[A-Za-z0-9._@+-]{1,100}){1,20}`;
const volumeName = "[a-z0-9][a-z0-9_-]{0,59}";
const repositoryPath = String.raw`\./(?!(?:[^:]*/)?\.\.(?:/|:))[A-Za-z0-9._@+/-]{0,300}`;
const mode = "(?::(?:ro|rw))?";

/** Of an app: `data:/var/lib/data`, `data:/data:ro`. */
export const namedVolumes = volumeList(
  new RegExp(`^${volumeName}:${containerPath}${mode}$`),
  "must be `name:/path` or `name:/path:ro`: a name of lower-case letters, digits, `_` and `-`, and an absolute path",
).max(limits.volumesMost);

/** Of a service: also `./conf:/etc/conf`, a path inside the repository. */
export const serviceVolumes = volumeList(
  new RegExp(`^(?:${volumeName}|${repositoryPath}):${containerPath}${mode}$`),
  "must be `name:/path` or `./path:/path`, with `:ro` where it is only read; paths of the server are not allowed",
).max(limits.serviceEntries);

function volumeList(form: RegExp, message: string) {
  return z.array(z.string().max(2_500).regex(form, message)).superRefine((volumes, context) => {
    const targets = volumes.map((volume) => volume.split(":")[1]);
    const again = targets.findIndex((target, at) => targets.indexOf(target) !== at);
    if (again >= 0)
      context.addIssue({ code: "custom", path: [again], message: "mounts the same path again" });
  });
}

const portForm =
  /^(?:(?:(\d{1,3}(?:\.\d{1,3}){3}):)?(\d{1,5})(?:-(\d{1,5}))?:)?(\d{1,5})(?:-(\d{1,5}))?(?:\/(?:tcp|udp))?$/;

/** `3000`, `8080:80`, `127.0.0.1:5000-5010:5000-5010/udp`. */
export const servicePorts = z
  .array(
    z
      .string()
      .max(60)
      .superRefine((text, context) => {
        const problem = portProblem(text);
        if (problem !== null) context.addIssue({ code: "custom", message: problem });
      }),
  )
  .max(limits.serviceEntries)
  .refine((ports) => new Set(ports).size === ports.length, "names a port twice")
  .openapi({
    description: "Short form of compose files: `3000`, `8080:80`, `127.0.0.1:5000-5010:5000-5010/udp`",
  });

function portProblem(text: string): string | null {
  const [whole, address, hostFrom, hostTo, from, to] = portForm.exec(text) ?? [];
  if (whole === undefined || from === undefined)
    return "must be `port`, `host:port` or `address:host:port`, with `/udp` where it is not tcp";
  if (address?.split(".").some((part) => Number(part) > 255)) return "must have an IPv4 address in front";
  const inside = range(from, to);
  const outside = hostFrom === undefined ? inside : range(hostFrom, hostTo);
  if (inside === null || outside === null)
    return "must have ports from 1 to 65535, the lower one first in a range";
  return inside === outside ? null : "must have ranges of the same length on both sides";
}

/** How many ports; null where it is no range of ports. */
function range(from: string, to = from): number | null {
  const [first, last] = [Number(from), Number(to)];
  return first < 1 || last > 65_535 || last < first ? null : last - first + 1;
}

/** Globs relative to the top of the repository: `packages/api/**`, `*.json`, `src/{a,b}/[ab]?.ts`. */
export const watchPaths = z
  .array(
    z
      .string()
      .min(1)
      .max(500)
      .regex(
        /^(?![/-])(?!.*(?:^|\/)\.\.(?:\/|$))[^\p{Cc}\p{Cs}\\:]+$/u,
        "must be a glob relative to the top of the repository, without `..` or backslashes",
      )
      .refine(isBalanced, "must close every `[` and `{` that it opens"),
  )
  .max(limits.serviceEntries)
  .refine((paths) => new Set(paths).size === paths.length, "names a path twice");

function isBalanced(glob: string): boolean {
  let open = "";
  for (const letter of glob) {
    const inClass = open.endsWith("[");
    if (letter === "]" && inClass) open = open.slice(0, -1);
    else if (letter === "}" && !inClass) {
      if (!open.endsWith("{")) return false;
      open = open.slice(0, -1);
    } else if ((letter === "[" || letter === "{") && !inClass) open += letter;
    else if (letter === "]" && !inClass) return false;
  }
  return open === "";
}
