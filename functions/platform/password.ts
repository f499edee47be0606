/**
 * Passwords at rest: argon2id with 19 MiB and two passes (OWASP's first choice for servers), in PHC form, so that the
 * parameters can grow later and old hashes still verify.
 */
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";

const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const tag = await derive(password, salt, parameters);
  const { memory, passes, parallelism } = parameters;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = form.exec(stored) ?? [];
  if (salt === undefined || tag === undefined) return false;
  const expected = Buffer.from(tag, "base64");
  const found = await derive(password, Buffer.from(salt, "base64"), {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(found, expected);
}

function derive(password: string, nonce: Buffer, options: typeof parameters): Promise<Buffer> {
  // NFKC: the same password typed on another keyboard has the same bytes.
  const message = Buffer.from(password.normalize("NFKC"), "utf8");
  return new Promise((resolve, reject) => {
    argon2("argon2id", { message, nonce, ...options }, (error, key) => {
      if (error === null) resolve(Buffer.from(key));
      else reject(error);
    });
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
