/**
 * Where the CLI talks to, and as whom. `SLIPWAY_URL` and `SLIPWAY_TOKEN` win over the file that `slipway login` wrote.
 * A stored token is only ever sent to the address that it was stored with: another `SLIPWAY_URL` needs its own token.
 */
import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Failure, usage } from "../frame/failure.ts";

export interface Login {
  url: string;
  token: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The instance that a plain `npm start` serves. */
const defaultUrl = "http://127.0.0.1:3000";

/** What to use now, or undefined when nobody is logged in. */
export async function currentLogin(environment: Environment): Promise<Login | undefined> {
  const stored = await storedLogin(environment);
  const url = environment["SLIPWAY_URL"] ? baseUrl(environment["SLIPWAY_URL"]) : (stored?.url ?? defaultUrl);
  const token = environment["SLIPWAY_TOKEN"] || (stored?.url === url ? stored.token : undefined);
  return token === undefined ? undefined : { url, token };
}

/** The address alone; enough for what is public. */
export async function currentUrl(environment: Environment): Promise<string> {
  if (environment["SLIPWAY_URL"]) return baseUrl(environment["SLIPWAY_URL"]);
  return (await storedLogin(environment))?.url ?? defaultUrl;
}

/** Written beside the old file and renamed, so that a cut leaves one of the two; readable by its owner alone. */
export async function storeLogin(environment: Environment, login: Login): Promise<string> {
  const path = credentialsPath(environment);
  const folder = join(path, "..");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(login, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}

/** Whether there was something to forget. */
export async function forgetLogin(environment: Environment): Promise<boolean> {
  const known = await storedText(environment);
  await rm(credentialsPath(environment), { force: true });
  return known !== undefined;
}

/** Scheme, host and port: the API lies at the root of it. */
export function baseUrl(value: string): string {
  const url = URL.parse(value);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw usage("The address must be a http or https URL.", "For example https://slipway.example.org");
  }
  if (url.href !== `${url.origin}/`) {
    throw usage("The address must be scheme, host and port alone, without user name, path and query.");
  }
  return url.origin;
}

async function storedLogin(environment: Environment): Promise<Login | undefined> {
  const text = await storedText(environment);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (typeof value?.url === "string" && typeof value.token === "string") {
    return { url: baseUrl(value.url), token: value.token };
  }
  throw new Failure("notLoggedIn", "credentials_damaged", `${credentialsPath(environment)} cannot be read.`, {
    hint: "Run `slipway login` again.",
  });
}

async function storedText(environment: Environment): Promise<string | undefined> {
  try {
    return await readFile(credentialsPath(environment), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Failure("notLoggedIn", "credentials_unreadable", "The stored login cannot be read.", {
      cause: error,
      hint: credentialsPath(environment),
    });
  }
}

function parsed(text: string): { url?: unknown; token?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // The caller says that the file is damaged.
  }
}

function credentialsPath(environment: Environment): string {
  const base = environment["XDG_CONFIG_HOME"] || join(environment["HOME"] || homedir(), ".config");
  return join(base, "slipway", "credentials.json");
}
