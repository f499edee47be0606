import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeployFailure } from "../../../../functions/deploy/failure.ts";
import { environmentFile, passEnvironment } from "../../../../functions/deploy/pipeline/environment.ts";
import { containerPortOf } from "../../../../functions/deploy/pipeline/release.ts";

const value = fc.string({ unit: "binary", maxLength: 80 }).map((text) => text.replaceAll("\0", ""));
const key = fc.stringMatching(/^APP_[A-Z0-9_]{0,10}$/);

describe("the environment of a container", () => {
  it("comes through a shell byte for byte, whatever it holds", () => {
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 6 }), (environment) => {
        const { stdin, argv } = passEnvironment(environment);
        const script = `( eval "$(cat)"; printf '%s' "$slipway_env_file"; printf '\\0'; for name in "$@"; do eval "printf '%s\\\\0' \\"\\$$name\\""; done )`;
        const names = argv.filter((_, index) => index % 2 === 1);
        const out = execFileSync("sh", ["-c", script, "sh", ...names], { input: stdin }).toString();
        const [file = "", ...exported] = out.split("\0").slice(0, -1);
        const seen = Object.fromEntries([
          ...file
            .split("\n")
            .slice(0, -1)
            .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
          ...names.map((name, index) => [name, exported[index]]),
        ]);
        expect(seen).toEqual({ ...environment });
      }),
      { numRuns: 30 },
    );
  });

  it("never stands in the arguments, and every argument is a name", () => {
    const { argv } = passEnvironment({ A: "one\nline", B: "plain", C: "x".repeat(65_000) });
    expect(argv).toEqual(["--env", "A", "--env", "C"]);
  });

  it.each([
    "LD_PRELOAD",
    "DOCKER_HOST",
    "PATH",
    "https_proxy",
    "BASH_ENV",
    "IFS",
    "GODEBUG",
    "slipway_env_file",
  ])("does not let %s steer the engine's client", (name) => {
    expect(passEnvironment({ [name]: "one line" }).argv).toEqual([]);
    expect(() => passEnvironment({ [name]: "two\nlines" })).toThrow(DeployFailure);
  });

  it("is a file that a shell reads, for the build", () => {
    const environment = { A: "it's", B: "two\nlines", C: "$(x) `y`" };
    const out = execFileSync("sh", ["-c", 'eval "$(cat)"; printf "%s|%s|%s" "$A" "$B" "$C"'], {
      input: environmentFile(environment),
    });
    expect(out.toString()).toBe("it's|two\nlines|$(x) `y`");
  });
});

describe("the port of a container", () => {
  it("is the one that was set, else of the environment, else the only one of the image, else 3000", () => {
    expect(containerPortOf(8_080, { PORT: "1" }, [80])).toBe(8_080);
    expect(containerPortOf(undefined, { PORT: "4000" }, [80])).toBe(4_000);
    expect(containerPortOf(undefined, { PORT: "tcp://x" }, [80])).toBe(80);
    expect(containerPortOf(undefined, { PORT: "99999" }, [])).toBe(3_000);
    expect(containerPortOf(undefined, {}, [80, 443])).toBe(3_000);
  });
});
