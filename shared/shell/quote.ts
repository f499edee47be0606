/**
 * The one place where arguments become a line for a remote shell. SSH has no argument vector: `exec` hands one string to the login
 * shell, so every argument stands in single quotes, in which a POSIX shell (sh, dash, bash, ksh, zsh, busybox) reads nothing
 * specially. Rejected: escaping only "dangerous" characters (lists have holes) and quoting libraries (they mean the local shell).
 * What cannot be carried is a programmer's error, not a user's: it throws `UnquotableError`, callers validate their input earlier.
 */

/** A NUL byte, an empty program or a name that is no environment variable: the caller should have refused it before. */
export class UnquotableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnquotableError";
  }
}

export interface CommandLineParts {
  argv: readonly string[];
  env?: Readonly<Record<string, string>> | undefined;
  /** Put `sudo -n` in front. Whether it is needed is the caller's knowledge: root needs none. */
  sudo?: boolean;
  /** Nothing will be written to it: it reads an empty input. */
  noInput?: boolean;
}

/** MAX_ARG_STRLEN of Linux. */
const lineLimitBytes = 128 * 1024;

/** One argument as one POSIX word: `it's` → `'it'\''s'`. A lone surrogate has no bytes and is refused like NUL. */
export function quote(argument: string): string {
  if (argument.includes("\0")) {
    throw new UnquotableError("An argument contains a NUL character.");
  }
  if (!argument.isWellFormed()) {
    throw new UnquotableError("An argument is not well-formed text.");
  }
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/** A whole command for the login shell. The environment is set behind sudo, which would drop it otherwise. */
export function commandLine(parts: CommandLineParts): string {
  const [program] = parts.argv;
  if (program === undefined || program === "") {
    throw new UnquotableError("A command needs a program.");
  }
  const words = parts.sudo === true ? ["sudo", "-n", "--"] : [];
  const assignments = environmentAssignments(parts.env ?? {});
  if (assignments.length > 0) {
    // `env` would read a program name that holds a "=" as one more assignment.
    if (program.includes("=")) {
      throw new UnquotableError("A program name with an equals sign cannot be run with an environment.");
    }
    words.push("env", ...assignments);
  } else if (program.includes("=") && parts.sudo === true) {
    throw new UnquotableError("A program name with an equals sign cannot be run through sudo.");
  }
  for (const argument of parts.argv) {
    words.push(quote(argument));
  }
  if (parts.noInput === true) {
    words.push("</dev/null");
  }
  const line = words.join(" ");
  // sshd hands the line to the login shell as one argument, and Linux refuses to start a program with a longer one.
  if (Buffer.byteLength(line) >= lineLimitBytes) {
    throw new UnquotableError("A command is longer than 128 KiB; what is long travels by stdin.");
  }
  return line;
}

/** `'NAME=value'` words. A name that the shell would not take for a variable is refused: names can carry code as values do. */
function environmentAssignments(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => quote(`${environmentName(name)}=${value}`));
}

/** The name itself if it is one of an environment variable; throws otherwise. */
export function environmentName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new UnquotableError("An environment variable has a name that a shell cannot hold.");
  }
  return name;
}
