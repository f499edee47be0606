/**
 * Strings that a shell, git, ssh or a parser could take for more than data. Each carries a mark, so that it is found again wherever it
 * comes out, and where it is run it leaves a file of that name.
 */
export interface HostileString {
  mark: string;
  text: string;
}

/** `find` on the server knows them by this. */
export const canaryPattern = /slipway-canary-zq\d+z$/;

const canary = (mark: string) => `/tmp/slipway-canary-${mark}`;

const shapes: readonly ((touch: string, path: string) => string)[] = [
  (touch) => `$(${touch})`,
  (touch) => `\`${touch}\``,
  (touch) => `x; ${touch} ;`,
  (touch) => `'; ${touch}; '`,
  (touch) => `"; ${touch}; "`,
  (touch) => `x && ${touch} || ${touch}`,
  (touch) => `x | ${touch} & ${touch}`,
  (touch) => `x\n${touch}\n`,
  (touch) => `x\r\n${touch}`,
  (touch) => `x\u0000; ${touch}`,
  (touch) => `-oProxyCommand=${touch}`,
  (touch) => `--upload-pack=${touch}`,
  (touch) => `-x$(${touch})`,
  (touch) => `\u202e$(${touch})\u2066\u200f`,
  (touch) => `ext::sh -c ${touch.replaceAll(" ", "% ")}`,
  (touch) => `${"x".repeat(200_000)}$(${touch})`,
  (touch) => `\\$(${touch})\\'`,
  (touch) => `{{.ID}}%s%n$(${touch})`,
  // Without a space, a line break or a leading dash: what a careful pattern lets pass.
  (_touch, path) => `$(touch$\{IFS}${path})`,
  (_touch, path) => `';touch$\{IFS}${path};'`,
  (_touch, path) => `\`touch$\{IFS}${path}\``,
  (_touch, path) => `"|touch$\{IFS}${path}|"`,
  (_touch, path) => `/$(touch$\{IFS}${path})`,
  (_touch, path) => `/';touch$\{IFS}${path};'`,
  (_touch, path) => `https://git.test/$(touch$\{IFS}${path})/';touch$\{IFS}${path};'.git`,
  (_touch, path) => `../../..${path}`,
  (_touch, path) => `KEY=x\nOTHER=$(touch$\{IFS}${path})`,
];

export const hostileStrings: readonly HostileString[] = shapes.map((shape, index) => {
  const mark = `zq${index + 1}z`;
  return { mark, text: shape(`touch ${canary(mark)}`, canary(mark)) };
});

export function marksIn(text: string): HostileString[] {
  const found = new Set(text.match(/zq\d+z/g) ?? []);
  return hostileStrings.filter(({ mark }) => found.has(mark));
}
