/**
 * Makes text that others wrote safe to print. Names, error messages and log lines come from servers and builds; an
 * escape sequence in them could move the cursor, set the window title or write to the clipboard. Colors are the one
 * thing that a log line may keep. Rejected: trusting the API's own filter, since the log of a build is kept as it was.
 */
import { stripVTControlCharacters } from "node:util";

// Every control character but tab, and the marks that turn the direction of writing around.
const unprintable = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const color = /(\x1b\[[0-9;:]*m)/;
/** Sequences that end with a string terminator or BEL: titles, links, clipboard, device control. */
const strings = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?/g;

/** One line without any control: for names, cells and messages. */
export function plainText(value: string): string {
  return stripVTControlCharacters(value.replace(strings, "").replace(/\s*[\r\n]+\s*/g, " ")).replace(
    unprintable,
    "",
  );
}

/** One line that may carry colors, when the terminal shows them; a color never leaks into the next line. */
export function logText(line: string, colors: boolean): string {
  const pieces = lastRewrite(line).replace(strings, "").split(color);
  const text = pieces
    .map((piece, index) => (index % 2 === 0 ? plainText(piece) : colors ? piece : ""))
    .join("");
  return colors && pieces.length > 1 ? `${text}\x1b[0m` : text;
}

/** Columns that a text takes in a terminal: wide letters take two, combining marks none. */
export function displayWidth(value: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(value)) width += wide.test(segment) ? 2 : 1;
  return width;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6])/u;

/** Progress bars rewrite their line with a carriage return; what a person would see last is kept. */
function lastRewrite(line: string): string {
  return line.split("\r").findLast((part) => part.trim() !== "") ?? "";
}
