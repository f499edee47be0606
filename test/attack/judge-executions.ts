/**
 * What may become of a hostile string that reaches a program's arguments: it stands in one argument, whole. It is never the program, never
 * part of a text that a shell reads (but as a quoted word of the line that sshd hands to the login shell, which is taken apart again
 * here), and where it begins like an option it stands behind `--` or is a plain parameter of a script.
 */
import type { Execution } from "./exec-recorder.ts";
import { type HostileString, marksIn } from "./hostile-strings.ts";

export interface Sighting {
  program: string;
  mark: string;
  argument: string;
}

export interface Verdict {
  /** Where they were seen, and whole. */
  sightings: Sighting[];
  /** Sentences for a person; empty when all is well. */
  faults: string[];
}

export function judgeExecutions(executions: readonly Execution[]): Verdict {
  const verdict: Verdict = { sightings: [], faults: [] };
  for (const execution of executions) judge(execution, verdict);
  return verdict;
}

function judge({ program, argv }: Execution, verdict: Verdict): void {
  const [name = ""] = argv;
  if (marksIn(program).length > 0 || marksIn(name).length > 0) {
    verdict.faults.push(`run as a program: ${shown(program)}`);
  }
  const code = codeAt(program, argv);
  argv.forEach((argument, at) => {
    if (at === 0) return;
    for (const hostile of marksIn(argument)) {
      const fault = at === code ? readLine(argument, verdict) : misplaced(argv, at, hostile, code);
      if (fault !== undefined) verdict.faults.push(`${fault}: ${argv.map(shown).join(" ")}`);
      else verdict.sightings.push({ program, mark: hostile.mark, argument });
    }
  });
}

/** Which argument a shell reads as a program, if any. */
function codeAt(program: string, argv: readonly string[]): number | undefined {
  if (!/(^|\/)(ba|da|z|k)?sh$/.test(program)) return undefined;
  const flag = argv.findIndex((argument, at) => at > 0 && /^-[a-z]*c$/.test(argument));
  return flag === -1 ? undefined : flag + 1;
}

function misplaced(
  argv: readonly string[],
  at: number,
  hostile: HostileString,
  code: number | undefined,
): string | undefined {
  const argument = argv[at] ?? "";
  if (!argument.includes(hostile.text)) return "split or changed";
  const isParameter = code !== undefined && at > code;
  const behindTheEnd = argv.slice(1, at).includes("--");
  if (hostile.text.startsWith("-") && argument.startsWith("-") && !isParameter && !behindTheEnd) {
    return "could be taken for an option";
  }
  return undefined;
}

/** The line of a login shell: quoted words and nothing else. Its words are judged as the program that they start. */
function readLine(line: string, verdict: Verdict): string | undefined {
  const word = /'[^']*'(?:\\''(?:[^']*'))*|sudo|-n|--|env/y;
  const words: string[] = [];
  const text = line.replace(/ <\/dev\/null$/, "");
  for (let at = 0; at < text.length; at = word.lastIndex + 1) {
    word.lastIndex = at;
    const found = word.exec(text)?.[0];
    const next = text[word.lastIndex];
    if (found === undefined || (next !== undefined && next !== " ")) return "in a text that a shell reads";
    words.push(found.startsWith("'") ? found.slice(1, -1).replaceAll("'\\''", "'") : found);
  }
  const rest = words.slice(words[0] === "sudo" ? 3 : 0);
  const from = rest[0] === "env" ? rest.findIndex((each, at) => at > 0 && !/^\w+=/.test(each)) : 0;
  const [program = ""] = rest.slice(from);
  judge({ program, argv: rest.slice(from) }, verdict);
  return undefined;
}

function shown(argument: string): string {
  return JSON.stringify(argument.length > 300 ? `${argument.slice(0, 300)}…` : argument);
}
