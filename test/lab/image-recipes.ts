/**
 * What the lab's images are made of, as data: one recipe an image, each on Debian's packages alone, because a test
 * machine may reach no image registry. The three product images stand in for those a user's server would pull, under
 * the same names inside lab servers, so the product carries no switch for tests.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import type { MachineSettings } from "./machine-settings.ts";

export interface Recipe {
  dockerfile: string;
  /** Small files of the build context, by name. */
  files: Readonly<Record<string, string>>;
  /** Files and folders of this machine that go into the context, by name there. */
  copies: Readonly<Record<string, string>>;
  /** Stands for the content of `copies` in the cache key. */
  version: string;
}

const install =
  "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends";
const forgetLists = "rm -rf /var/lib/apt/lists/*";

/** A fresh Debian server as a provider hands it over: systemd, sshd, sudo, nothing to run containers with. */
export function bareServerRecipe(base: string): Recipe {
  const files = {
    "lab-host-keys.service": hostKeysUnit,
    "lab-nameservers.service": nameserversUnit,
    "lab-sudoers": "admin ALL=(ALL) NOPASSWD: ALL\n",
  };
  const dockerfile = [
    `FROM ${base}`,
    `RUN ${install} systemd systemd-sysv dbus openssh-server iproute2 sudo \\`,
    ` && ${forgetLists} && rm -f /etc/ssh/ssh_host_* /etc/machine-id && touch /etc/machine-id \\`,
    " && useradd --create-home --shell /bin/bash admin && useradd --create-home --shell /bin/bash plain",
    "COPY lab-host-keys.service lab-nameservers.service /etc/systemd/system/",
    "COPY lab-sudoers /etc/sudoers.d/lab",
    "RUN chmod 0440 /etc/sudoers.d/lab && systemctl enable lab-host-keys.service lab-nameservers.service",
    "STOPSIGNAL SIGRTMIN+3",
    'CMD ["/lib/systemd/systemd"]',
  ];
  return { dockerfile: lines(dockerfile), files, copies: {}, version: "1" };
}

/** The same server after Debian's packages for a bootstrap were installed, with nothing of the product configured. */
export function dockerServerRecipe(bareServer: string): Recipe {
  const packages = "docker.io iptables git curl ca-certificates caddy";
  const dockerfile = [`FROM ${bareServer}`, `RUN ${install} ${packages} && ${forgetLists}`];
  return { dockerfile: lines(dockerfile), files: {}, copies: {}, version: "1" };
}

/** `node:24-bookworm-slim`: the repository's own Node binary and this machine's npm. */
export function nodeRecipe(base: string, settings: MachineSettings): Recipe {
  const node = findNodePackage();
  const npm = findNpm();
  const corepack = join(dirname(npm), "corepack");
  const copies: Record<string, string> = { node: node.binary, npm };
  if (existsSync(corepack)) copies["corepack"] = corepack;
  const modules = "/usr/local/lib/node_modules";
  const dockerfile = [
    `FROM ${base}`,
    "RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node",
    "COPY node /usr/local/bin/node",
    ...Object.keys(copies).flatMap((name) => (name === "node" ? [] : [`COPY ${name} ${modules}/${name}`])),
    "COPY npmrc /usr/local/etc/npmrc",
    "COPY docker-entrypoint.sh /usr/local/bin/docker-entrypoint.sh",
    "RUN chmod 0755 /usr/local/bin/node /usr/local/bin/docker-entrypoint.sh \\",
    ` && ln -s ${modules}/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ${modules}/npm/bin/npx-cli.js /usr/local/bin/npx \\`,
    ` && if [ -d ${modules}/corepack ]; then ln -s ${modules}/corepack/dist/corepack.js /usr/local/bin/corepack; fi`,
    `ENV NODE_VERSION=${node.version} NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt`,
    'ENTRYPOINT ["docker-entrypoint.sh"]',
    'CMD ["node"]',
  ];
  const files = { npmrc: settings.npmrc, "docker-entrypoint.sh": nodeEntrypoint };
  return { dockerfile: lines(dockerfile), files, copies, version: `${node.version} ${packageVersion(npm)}` };
}

/** `caddy:2`: Debian's Caddy, laid out like the published image. */
export function caddyRecipe(base: string): Recipe {
  const run = '["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]';
  const dockerfile = [
    `FROM ${base}`,
    `RUN ${install} caddy ca-certificates && ${forgetLists} && mkdir -p /config/caddy /data/caddy`,
    "ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data",
    "EXPOSE 80 443 2019",
    `CMD ${run}`,
  ];
  return { dockerfile: lines(dockerfile), files: {}, copies: {}, version: "1" };
}

/** Git over HTTP by git's own `http-backend`, behind lighttpd: software that no one here wrote. */
export function gitServerRecipe(base: string): Recipe {
  const dockerfile = [
    `FROM ${base}`,
    `RUN ${install} git lighttpd && ${forgetLists} && mkdir -p /srv/git && git config --system safe.directory '*'`,
    "COPY lighttpd.conf /etc/lighttpd/lab.conf",
    "EXPOSE 8080",
    'CMD ["lighttpd", "-D", "-f", "/etc/lighttpd/lab.conf"]',
  ];
  return {
    dockerfile: lines(dockerfile),
    files: { "lighttpd.conf": lighttpdConfig },
    copies: {},
    version: "1",
  };
}

/** Postfix and dnsmasq as Debian ships them; see mail-peer.ts. */
export function mailPeerRecipe(base: string): Recipe {
  const dockerfile = [
    `FROM ${base}`,
    'RUN echo "postfix postfix/main_mailer_type string Local only" | debconf-set-selections \\',
    ` && ${install} postfix dnsmasq-base netbase && ${forgetLists} && useradd --create-home ada`,
    "COPY start /usr/local/bin/start",
    "EXPOSE 25 53/udp",
    'CMD ["sh", "/usr/local/bin/start"]',
  ];
  return { dockerfile: lines(dockerfile), files: { start: mailPeerStart }, copies: {}, version: "1" };
}

function findNodePackage(): { binary: string; version: string } {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve(`node-linux-${process.arch}/package.json`);
  return { binary: join(dirname(manifest), "bin", "node"), version: packageVersion(dirname(manifest)) };
}

/** The folder of the npm that runs us, or else of the one on the path. */
function findNpm(): string {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "npm"));
  for (const candidate of [process.env["npm_execpath"] ?? "", ...onPath]) {
    if (!candidate.includes("npm") || !existsSync(candidate)) continue;
    const folder = dirname(dirname(realpathSync(candidate)));
    if (existsSync(join(folder, "bin", "npm-cli.js"))) return folder;
  }
  throw new Error("npm is not installed on this machine; the lab's Node image needs it.");
}

function packageVersion(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest)
    return String(manifest.version);
  throw new Error(`${folder} has no version.`);
}

function lines(parts: readonly string[]): string {
  return `${parts.join("\n")}\n`;
}

/** Each server makes keys of its own at its first boot; two of the three usual types, since RSA takes seconds. */
const hostKeysUnit = `[Unit]
Description=SSH host keys of this lab server
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
ExecStart=/usr/bin/ssh-keygen -q -t ecdsa -N "" -f /etc/ssh/ssh_host_ecdsa_key

[Install]
WantedBy=multi-user.target
`;

/**
 * On a network of its own a container asks docker's resolver, on a loopback address. A nested engine cannot hand that to
 * its containers and would give them a public resolver that a closed network does not reach; a second, real one helps.
 */
const nameserversUnit = `[Unit]
Description=Nameservers for the containers of this lab server
Before=docker.service

[Service]
Type=oneshot
PassEnvironment=LAB_NAMESERVERS
ExecStart=/bin/sh -c 'for ns in $LAB_NAMESERVERS; do echo "nameserver $ns" >> /etc/resolv.conf; done'

[Install]
WantedBy=multi-user.target
`;

/** As the published image does: a bare option or an unknown word is meant for node. */
const nodeEntrypoint = `#!/bin/sh
set -e
if [ "\${1#-}" != "\${1}" ] || [ -z "$(command -v "\${1}")" ]; then set -- node "$@"; fi
exec "$@"
`;

const mailPeerStart = `set -e
postconf -e myhostname=mail.test mydestination=mail.test inet_interfaces=all inet_protocols=ipv4 \
  mynetworks=0.0.0.0/0 smtpd_tls_security_level=none maillog_file=/dev/stdout compatibility_level=3.6
postconf -F '*/*/chroot = n'
newaliases
dnsmasq --keep-in-foreground --user=root --no-resolv --no-hosts $LAB_NAMES &
exec postfix start-fg
`;

const lighttpdConfig = `server.document-root = "/srv/git"
server.port = 8080
server.modules = ("mod_auth", "mod_authn_file", "mod_alias", "mod_setenv", "mod_cgi")
auth.backend = "plain"
auth.backend.plain.userfile = "/etc/lighttpd/lab.users"
auth.require = ("/private/" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
server.errorlog = "/dev/stderr"
alias.url = ("/" => "/usr/lib/git-core/git-http-backend/")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "/srv/git", "GIT_HTTP_EXPORT_ALL" => "1")
cgi.assign = ("" => "")
server.stream-response-body = 2
`;
