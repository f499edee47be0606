/**
 * `debian:bookworm-slim` from Debian's packages: debootstrap, trimmed as the published image is, with the machine's
 * package sources and trust laid in, then imported. Rejected: pulling it, since a test machine may reach no registry.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { installPackages } from "./apt.ts";
import { describeFailure, pipeCommands, runCommand } from "./docker.ts";
import { debianRelease, type MachineSettings } from "./machine-settings.ts";

const debootstrapDeadlineMs = 300_000;
const importDeadlineMs = 120_000;

/** Text that changes whenever the image would come out differently. */
export function baseImageKey(settings: MachineSettings): string {
  return JSON.stringify(["1", process.arch, debianRelease, settings, dpkgOptions]);
}

export async function buildBaseImage(
  tag: string,
  labels: readonly string[],
  settings: MachineSettings,
  say: (line: string) => void,
): Promise<void> {
  if (!existsSync("/usr/sbin/debootstrap")) {
    const missing = await installPackages(["debootstrap"], say);
    if (missing !== undefined) throw new Error(`The lab's base image cannot be made: ${missing}.`);
  }
  const work = await mkdtemp(join(tmpdir(), "slipway-lab-base-"));
  try {
    const root = join(work, "root");
    const args = ["--variant=minbase", debianRelease, root, settings.mirror];
    const made = await runCommand("/usr/sbin/debootstrap", args, { deadlineMs: debootstrapDeadlineMs });
    if (made.code !== 0) throw new Error(describeFailure("debootstrap", args, made));
    trim(root);
    layInSettings(root, settings);
    const changes = [...labels.map((label) => `LABEL ${label}`), 'CMD ["bash"]'].flatMap((line) => [
      "--change",
      line,
    ]);
    await pipeCommands(
      ["tar", "-C", root, "--numeric-owner", "-c", "."],
      ["docker", "import", ...changes, "-", tag],
      importDeadlineMs,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function trim(root: string): void {
  for (const folder of [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
  ]) {
    emptyFolder(join(root, folder));
  }
  const locales = join(root, "usr/share/locale");
  for (const name of existsSync(locales) ? readdirSync(locales) : []) {
    if (name !== "locale.alias") rmSync(join(locales, name), { recursive: true, force: true });
  }
  mkdirSync(join(root, "var/cache/apt/archives/partial"), { recursive: true });
  mkdirSync(join(root, "var/lib/apt/lists/partial"), { recursive: true });
}

function emptyFolder(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

function layInSettings(root: string, settings: MachineSettings): void {
  rmSync(join(root, "etc/apt/sources.list"), { force: true });
  rmSync(join(root, "etc/hostname"), { force: true });
  write(root, "etc/apt/sources.list.d/debian.sources", settings.aptSources);
  write(root, "etc/apt/apt.conf.d/99lab", settings.aptOptions + aptCacheOptions);
  write(root, "etc/dpkg/dpkg.cfg.d/docker", dpkgOptions);
  write(root, "etc/ssl/certs/ca-certificates.crt", settings.certificateBundle);
  settings.extraCertificates.forEach((certificate, index) => {
    write(root, `usr/local/share/ca-certificates/machine-${index}.crt`, `${certificate}\n`);
  });
}

function write(root: string, path: string, content: string): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content, { mode: 0o644 });
}

const aptCacheOptions = `Acquire::Languages "none";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };
`;

/** As in the published slim image; without fsync a package step takes half the time, and images are disposable. */
const dpkgOptions = `force-unsafe-io
path-exclude /usr/share/doc/*
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-include /usr/share/locale/locale.alias
`;
