/**
 * What lab images must share with the machine that builds them: where Debian's packages come from, whom TLS trusts, and
 * which npm registry is used. Everything is read from the machine and never written into the repository, so the lab
 * works behind a mirror or a filtering proxy as well as on an open network. npm's tokens and apt's auth.conf stay behind.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./docker.ts";

/** The release that the product's own default images are made of. */
export const debianRelease = "bookworm";

export interface MachineSettings {
  /** Where debootstrap finds the release. */
  mirror: string;
  /** `/etc/apt/sources.list.d/debian.sources` for lab images. */
  aptSources: string;
  /** Proxy and date settings, in the form of `apt.conf`. */
  aptOptions: string;
  /** Every certificate the machine trusts, as one bundle. */
  certificateBundle: string;
  /** Those of them that Debian's own `ca-certificates` does not ship: they must survive its installation. */
  extraCertificates: string[];
  /** A global npmrc: registry and certificate file, no token. */
  npmrc: string;
}

const bundlePath = "/etc/ssl/certs/ca-certificates.crt";

export async function readMachineSettings(): Promise<MachineSettings> {
  const sources = await readAptSources();
  const mirror = sources.find((source) => source.suite === debianRelease)?.uri;
  if (mirror === undefined) throw new Error(`This machine's apt does not know Debian ${debianRelease}.`);
  const certificateBundle = existsSync(bundlePath) ? readFileSync(bundlePath, "utf8") : "";
  return {
    mirror,
    aptSources: sources.map(formatSource).join("\n"),
    aptOptions: await readAptOptions(),
    certificateBundle,
    extraCertificates: findExtraCertificates(certificateBundle),
    npmrc: await readNpmrc(),
  };
}

interface AptSource {
  uri: string;
  suite: string;
  component: string;
}

/** Asks apt itself, which knows both formats of its files. */
async function readAptSources(): Promise<AptSource[]> {
  const format = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)";
  const listing = await runCommand("apt-get", ["indextargets", "--format", format, "Created-By: Packages"]);
  return listing.stdout
    .split("\n")
    .map((line) => line.split("|"))
    .flatMap(([uri, suite, component]) =>
      uri && component && suite?.startsWith(debianRelease) ? [{ uri, suite, component }] : [],
    );
}

function formatSource(source: AptSource): string {
  return [
    "Types: deb",
    `URIs: ${source.uri}`,
    `Suites: ${source.suite}`,
    `Components: ${source.component}`,
    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    "",
  ].join("\n");
}

async function readAptOptions(): Promise<string> {
  const dump = await runCommand("apt-config", ["dump"]);
  const wanted = /^Acquire::(Check-Valid-Until|Check-Date|https?::[\w:.-]*) /i;
  const lines = dump.stdout
    .split("\n")
    .filter((line) => wanted.test(line) && !/pass|login|token/i.test(line));
  return `${lines.join("\n")}\n`;
}

function findExtraCertificates(bundle: string): string[] {
  const shipped = new Set(certificatesBelow("/usr/share/ca-certificates"));
  return [...new Set(splitCertificates(bundle))].filter((certificate) => !shipped.has(certificate));
}

function certificatesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .flatMap((path) => splitCertificates(readFileSync(path, "utf8")));
}

function splitCertificates(text: string): string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => block.replaceAll("\r", ""));
}

async function readNpmrc(): Promise<string> {
  const lines: string[] = [];
  for (const key of ["registry", "cafile"]) {
    const answer = await runCommand("npm", ["config", "get", key]);
    const value = answer.stdout.trim();
    if (answer.code !== 0 || !URL.canParse(key === "registry" ? value : `file://${value}`)) continue;
    if (value === "null" || value === "undefined" || value === "") continue;
    lines.push(`${key}=${key === "cafile" ? bundlePath : withoutCredentials(value)}`);
  }
  lines.push("update-notifier=false", "fund=false", "audit=false");
  return `${lines.join("\n")}\n`;
}

function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  return url.href;
}
