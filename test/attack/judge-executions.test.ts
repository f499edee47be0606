/** The judge of the argv oracle must find what it is there for. */
import { describe, expect, it } from "vitest";
import { commandLine } from "../../shared/shell/quote.ts";
import { hostileStrings } from "./hostile-strings.ts";
import { judgeExecutions } from "./judge-executions.ts";

const [first] = hostileStrings;
const option = hostileStrings.find(({ text }) => text.startsWith("--upload-pack"));
if (first === undefined || option === undefined) throw new Error("no hostile strings");
const { text, mark } = first;
const faultsOf = (program: string, ...argv: string[]) =>
  judgeExecutions([{ program, argv: [program, ...argv] }]).faults;

describe("a hostile string in arguments", () => {
  it("is right where it is whole: alone, in a longer one, behind a script, or quoted in a login shell's line", () => {
    const line = commandLine({
      argv: ["sh", "-c", 'echo "$1"', "x", `it's ${text}`],
      sudo: true,
      env: { A: text },
      noInput: true,
    });
    const { faults, sightings } = judgeExecutions([
      { program: "/usr/bin/git", argv: ["git", "fetch", "--", `+refs/heads/${text}:refs/x`] },
      { program: "/bin/sh", argv: ["sh", "-c", 'git fetch "$1"', "x", text] },
      { program: "/bin/bash", argv: ["bash", "-c", line] },
      { program: "/usr/bin/git", argv: ["git", "fetch", "--", option.text] },
    ]);
    expect(faults).toEqual([]);
    expect(sightings.filter((sighting) => sighting.mark === mark).length).toBeGreaterThanOrEqual(4);
  });

  it.each([
    ["split at its spaces", () => faultsOf("/usr/bin/git", "fetch", ...text.split(" "))],
    ["changed", () => faultsOf("/usr/bin/git", "fetch", text.replace("$", ""))],
    ["the program", () => faultsOf(`/usr/bin/${text}`)],
    ["in a text for a shell", () => faultsOf("/bin/sh", "-c", `git fetch '${text}'; true`)],
    ["unquoted in a login shell's line", () => faultsOf("/bin/bash", "-c", `'git' 'fetch' ${text}`)],
    ["quoted, but as the program of the line", () => faultsOf("/bin/bash", "-c", `'${text}'`)],
    ["in a text for an inner shell", () => faultsOf("/bin/bash", "-c", `'sh' '-c' 'git fetch ${text}'`)],
    ["where an option is expected", () => faultsOf("/usr/bin/git", "fetch", option.text)],
  ])("is wrong where it is %s", (_where, faults) => {
    expect(faults().length).toBeGreaterThan(0);
  });
});
