/** Archives as people and attackers make them: tar headers by hand, so that no library tidies them up. */
import { gzipSync } from "node:zlib";

export interface RawEntry {
  path: string;
  /** Default `0`: a file. */
  type?: string;
  target?: string;
  content?: string | Uint8Array;
  /** What the header says, where that is not the length of the content. */
  size?: number;
  mode?: number;
}

export function tar(...entries: RawEntry[]): Buffer {
  return Buffer.concat([...entries.map(rawEntry), Buffer.alloc(1_024)]);
}

export function archive(...entries: RawEntry[]): Buffer {
  return gzipSync(tar(...entries));
}

export function rawEntry(entry: RawEntry): Buffer {
  const content = Buffer.from(entry.content ?? "");
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header(entry, entry.size ?? content.length), content, padding]);
}

/** An extended header, for the entry behind it. */
export function pax(records: Record<string, string>): RawEntry {
  const lines = Object.entries(records).map(([key, value]) => {
    const body = Buffer.byteLength(` ${key}=${value}\n`);
    const digits = String(body + String(body).length).length;
    return `${body + digits} ${key}=${value}\n`;
  });
  return { path: "PaxHeader", type: "x", content: lines.join("") };
}

function header({ path, type = "0", target = "", mode = 0o644 }: RawEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(path, 0, 100, "latin1");
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write("        ", 148);
  block.write(type, 156);
  block.write(target, 157, 100, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, "latin1");
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
