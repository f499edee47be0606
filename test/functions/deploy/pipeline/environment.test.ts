import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { DeployFailure } from "../../../../functions/deploy/failure.ts";
import { environmentFile, environmentList } from "../../../../functions/deploy/pipeline/environment.ts";
import { containerPortOf } from "../../../../functions/deploy/pipeline/release.ts";

describe("the environment of a container", () => {
  it("is handed to the engine value by value, whatever it holds", () => {
    expect(environmentList({ A: "one\nline", B: "", LD_PRELOAD: "x=y" })).toEqual([
      "A=one\nline",
      "B=",
      "LD_PRELOAD=x=y",
    ]);
  });

  it.each(["nul \0", "half \ud800"])("is refused where the kernel could not carry it: %j", (value) => {
    expect(() => environmentList({ A: value })).toThrow(DeployFailure);
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
