/** Reads what is piped in: passwords, keys and environment values, which never stand in argv. */
import { usage } from "../frame/failure.ts";

const mostBytes = 40 * 1024 * 1024;

/** All of stdin, byte for byte as UTF-8. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw usage("stdin holds more than 40 MB.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A secret piped in: the newline that `echo` adds does not belong to it. */
export async function readSecret(): Promise<string> {
  const secret = (await readStandardInput()).replace(/\r?\n$/, "");
  if (secret === "") throw usage("stdin is empty; pipe the secret in.");
  return secret;
}
