/** A certificate authority of a test, and certificates of names by it: openssl, which every test machine has. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./docker.ts";

export interface Certificate {
  /** PEM. */
  key: string;
  cert: string;
  /** The authority's certificate as a file, for NODE_EXTRA_CA_CERTS. */
  authorityFile: string;
}

const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];

export async function makeCertificate(folder: string, host: string): Promise<Certificate> {
  const file = (name: string) => join(folder, name);
  await openssl([
    ...["req", "-x509", ...curve, "-subj", "/CN=Slipway lab"],
    ...["-keyout", file("ca.key"), "-out", file("ca.pem")],
  ]);
  await openssl([
    ...["req", "-x509", ...curve, "-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`],
    ...["-addext", "basicConstraints=critical,CA:FALSE", "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
    ...["-keyout", file("leaf.key"), "-out", file("leaf.pem")],
  ]);
  const [key, cert] = await Promise.all([
    readFile(file("leaf.key"), "utf8"),
    readFile(file("leaf.pem"), "utf8"),
  ]);
  return { key, cert, authorityFile: file("ca.pem") };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand("openssl", args);
  if (code !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr}`);
}
