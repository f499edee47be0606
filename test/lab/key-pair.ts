/**
 * An ed25519 key pair as OpenSSH writes it, since node:crypto exports ed25519 only in forms that SSH clients do not
 * read. Rejected: ssh-keygen, which a test machine need not have.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";

export interface KeyPair {
  /** `-----BEGIN OPENSSH PRIVATE KEY-----`, without a passphrase. */
  privateKey: string;
  /** `ssh-ed25519 <base64>`, as in `authorized_keys`. */
  publicKey: string;
}

const type = "ssh-ed25519";

export function generateKeyPair(comment = "slipway-lab"): KeyPair {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const secret = Buffer.from(jwk.d ?? "", "base64url");
  const point = Buffer.from(jwk.x ?? "", "base64url");
  const publicBlob = Buffer.concat([field(type), field(point)]);
  const check = randomBytes(4);
  const section = pad(
    Buffer.concat([check, check, publicBlob, field(Buffer.concat([secret, point])), field(comment)]),
  );
  const body = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    field("none"), // cipher
    field("none"), // key derivation
    field(""),
    number(1),
    field(publicBlob),
    field(section),
  ]);
  const base64 = body.toString("base64").replaceAll(/.{1,70}/g, "$&\n");
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${base64}-----END OPENSSH PRIVATE KEY-----\n`,
    publicKey: `${type} ${publicBlob.toString("base64")}`,
  };
}

function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** To a multiple of eight with 1, 2, 3 …, as the format asks. */
function pad(section: Buffer): Buffer {
  const missing = (8 - (section.length % 8)) % 8;
  return Buffer.concat([section, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))]);
}
