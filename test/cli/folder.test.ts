import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listFiles } from "../../cli/folder/list-files.ts";
import { pack } from "../../cli/folder/pack.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "slipway-folder-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

const listed = async (root = folder) => (await listFiles(root)).map(({ path }) => path);

describe("the files of a folder that are uploaded", () => {
  it("are all but .git and node_modules, at any depth", async () => {
    await write({
      ".git/HEAD": "",
      "a/node_modules/x.js": "",
      "node_modules/x.js": "",
      "a/b.js": "",
      ".env": "",
    });
    expect(await listed()).toEqual([".env", "a/b.js"]);
  });

  it("leave out what .gitignore names, nested and negated ones included", async () => {
    await write({
      ".gitignore": "*.log\n/dist/\n!keep.log\nsecret\n",
      "x.log": "",
      "keep.log": "",
      "dist/a.js": "",
      "packages/dist/a.js": "",
      "packages/.gitignore": "!x.log\n/local\n",
      "packages/x.log": "",
      "packages/local": "",
      "packages/deep/local": "",
      "packages/secret/inner.txt": "",
    });
    expect(await listed()).toEqual([
      ".gitignore",
      "keep.log",
      "packages/.gitignore",
      "packages/deep/local",
      "packages/dist/a.js",
      "packages/x.log",
    ]);
  });

  it("are the same as git itself would take", async () => {
    await write({
      ".gitignore":
        "build/*\n!build/keep\n**/tmp\nfoo[0-9].txt\n\\#hash\n trailing \n*.min.js\n!/top.min.js\n",
      "build/a": "",
      "build/keep": "",
      "a/tmp/b": "",
      "foo1.txt": "",
      "foox.txt": "",
      "#hash": "",
      "top.min.js": "",
      "a/other.min.js": "",
      "a/.gitignore": "/only\n",
      "a/only": "",
      "a/b/only": "",
    });
    const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
    git("init", "--quiet");
    const ofGit = git("ls-files", "--cached", "--others", "--exclude-standard").trim().split("\n");
    expect((await listed()).toSorted()).toEqual(ofGit.toSorted());
  });

  it("heed .slipwayignore first: it leaves out more, and takes back what git leaves out", async () => {
    await write({
      ".gitignore": "dist/\n.env\n",
      ".slipwayignore": "!dist/\n!node_modules\n*.md\n",
      "dist/app.js": "",
      ".env": "",
      "notes.md": "",
      "node_modules/kept.js": "",
      "app/.gitignore": "dist\n",
      "app/dist/a.js": "",
    });
    expect(await listed()).toEqual([
      ".gitignore",
      ".slipwayignore",
      "app/.gitignore",
      "app/dist/a.js",
      "dist/app.js",
      "node_modules/kept.js",
    ]);
  });

  it("heed the .gitignore of the checkout above, and of nothing above that", async () => {
    await write({
      "repo/.git/HEAD": "",
      "repo/.gitignore": ".env\n",
      "repo/web/.env": "",
      "repo/web/a": "",
      ".gitignore": "a\n",
    });
    expect(await listed(join(folder, "repo/web"))).toEqual(["a"]);
    expect(await listed(join(folder, "repo"))).toEqual([".gitignore", "web/a"]);
  });

  it("hold links that stay inside, and no other", async () => {
    await write({ "a/b": "" });
    await symlink("../a/b", join(folder, "a/link"));
    expect(await listed()).toEqual(["a/b", "a/link"]);
    await symlink("../../x", join(folder, "a/out"));
    await expect(listed()).rejects.toThrow("a/out is a link that leads out of the folder");
    await write({ ".slipwayignore": "out\n" });
    expect(await listed()).toEqual([".slipwayignore", "a/b", "a/link"]);
  });
});

it("packs the files under their names, and says which ones have gone", async () => {
  const odd = ["@at.txt", "-dash", "sp ace/ümlaut.txt", `${"long/".repeat(30)}file`];
  await write(Object.fromEntries(odd.map((path) => [path, path])));
  const gone: string[] = [];
  const files = await listFiles(folder);
  const archive = await buffer(pack(folder, files, ({ path }) => gone.push(path)));
  const names = execFileSync("tar", ["-tzf", "-"], { input: archive, encoding: "utf8" });
  expect(
    names
      .trim()
      .split("\n")
      .map((name) => name.replaceAll(/\\303\\274/g, "ü").replace(/^\.\//, ""))
      .toSorted(),
  ).toEqual(odd.toSorted());
  expect(gone.toSorted()).toEqual(odd.toSorted());
});
