/**
 * Whether a credential for a registry holds, asked by what will pull with it: the container engine of a server. Its own
 * `/auth` speaks the registry's v2 API, tokens included, with the engine's proxies and certificates. Rejected: asking
 * from the platform (another network, another trust) and `docker login` (it writes the secret into a file).
 */
import { type ServerRow, serverTarget } from "../../../shared/db/server-target.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { engineAddress } from "../../../shared/domain/registry.ts";
import { registrySecretPlace } from "../../../shared/domain/sealed-place.ts";
import { ShellFailure, type ShellResult } from "../../../shared/ports/shell.ts";
import { newestReadyServer } from "../newest-ready-server.ts";
import type { PlatformParts } from "../parts.ts";
import type { RegistryRow } from "./show.ts";

export interface RegistryCheck {
  ok: boolean;
  error?: string;
  code?: string;
  serverId: string | null;
}

/** The credential comes on standard input and nothing is written. Answers the engine's words, then its status on a line of its own. */
const askScript = `
command -v docker >/dev/null || exit 61
exec curl --silent --show-error --max-time 25 --unix-socket /var/run/docker.sock \\
  --header 'Content-Type: application/json' --data-binary @- --write-out '\\n%{http_code}' http://localhost/auth
`;

export async function checkRegistry(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  wantedServer: string | undefined,
): Promise<RegistryCheck> {
  const registry = await load(parts.db, principal, "registry", id);
  const server = await (wantedServer === undefined
    ? newestReadyServer(parts.db, principal)
    : load(parts.db, principal, "server", wantedServer));
  if (server === undefined) {
    const error = "Images are pulled by servers, and none is set up. Add and bootstrap one first.";
    return { ok: false, code: "no_server", error, serverId: null };
  }
  return { ...(await ask(parts, registry, server)), serverId: server.id };
}

type Verdict = Omit<RegistryCheck, "serverId">;

async function ask(parts: PlatformParts, registry: RegistryRow, server: ServerRow): Promise<Verdict> {
  const { host, username } = registry;
  const password = await parts.sealer.open("registry", registrySecretPlace(registry), registry.sealedSecret);
  try {
    const answer = await parts.shell.run(serverTarget(server, parts.sealer), {
      argv: ["sh", "-c", askScript, "slipway-registry"],
      stdin: JSON.stringify({ username, password, serveraddress: engineAddress(host) }),
      asRoot: true,
      deadlineMs: 35_000,
    });
    return judge(answer, host, password);
  } catch (error) {
    if (!(error instanceof ShellFailure)) throw error;
    return { ok: false, code: error.reason, error: error.message };
  }
}

function judge({ code, stdout }: ShellResult, host: string, secret: string): Verdict {
  const no = (reason: string, error: string) => ({ ok: false, code: reason, error });
  const [, said = "", status = "0"] = /^([\s\S]*)\n(\d{3})$/.exec(stdout) ?? [];
  if (code !== 0 || Number(status) < 100) {
    return no("server_not_ready", "The server's container engine does not answer; run its bootstrap.");
  }
  if (status === "200") return { ok: true };
  const words = messageIn(said).replaceAll(secret, "[redacted]").slice(0, 300);
  if (status === "401" || /unauthorized|denied|incorrect username|forbidden/i.test(words)) {
    return no("registry_not_allowed", `${host} does not take this user name and secret.`);
  }
  return no("registry_unreachable", `${host} could not be asked: ${words || `status ${status}`}`);
}

function messageIn(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    const message =
      typeof parsed === "object" && parsed !== null && "message" in parsed ? parsed.message : "";
    return String(message).replace(/\p{Cc}+/gu, " ");
  } catch {
    // An engine that answers no JSON has nothing to say that a person could use.
    return "";
  }
}
