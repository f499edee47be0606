import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { loadInstanceSecrets, readInstanceSecrets } from "../../../shared/adapters/instance-secrets.ts";
import { secretClasses } from "../../../shared/domain/instance-secrets.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-test-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("the folder is made, and belongs to one holder until it is released", async () => {
  const path = join(root, "new", "folder");
  const first = await openDataFolder(path, { purpose: "platform" });
  await expect(openDataFolder(path, { purpose: "tool" })).rejects.toMatchObject({
    code: "data_folder_in_use",
    message: expect.stringContaining(`process ${process.pid}`),
  });
  first.release();
  const second = await openDataFolder(path, { purpose: "tool" });
  second.release();
});

test("a platform waits for a tool, which is gone in seconds", async () => {
  const tool = await openDataFolder(root, { purpose: "tool" });
  const waiting = openDataFolder(root, { purpose: "platform" });
  tool.release();
  (await waiting).release();
});

test("waiting ends with the signal", async () => {
  const tool = await openDataFolder(root, { purpose: "tool" });
  const signal = AbortSignal.timeout(120);
  await expect(openDataFolder(root, { purpose: "platform", signal })).rejects.toThrow();
  tool.release();
});

test("a record without a holder, as a killed process leaves it, holds nobody up", async () => {
  await writeFile(
    join(root, "platform.json"),
    JSON.stringify({ pid: 1, purpose: "platform", startedAt: "" }),
  );
  (await openDataFolder(root, { purpose: "platform" })).release();
});

test("a path that cannot be a folder is refused by name", async () => {
  const file = join(root, "file");
  await writeFile(file, "");
  await expect(openDataFolder(join(file, "below"), { purpose: "platform" })).rejects.toMatchObject({
    code: "data_folder_unusable",
    message: expect.stringContaining(join(file, "below")),
  });
});

test("secrets are generated once, readable by the owner alone, with a ring for every class", async () => {
  const folder = await openDataFolder(root, { purpose: "platform" });
  expect(await readInstanceSecrets(root)).toBeUndefined();
  const made = await loadInstanceSecrets(folder);
  expect(Object.keys(made.classes).sort()).toEqual([...secretClasses].sort());
  expect(new Set(Object.values(made.classes).map(([first]) => first.key)).size).toBe(secretClasses.length);
  expect((await stat(join(root, "secrets.json"))).mode & 0o777).toBe(0o600);
  expect(await loadInstanceSecrets(folder)).toEqual(made);
  expect(await readInstanceSecrets(root)).toEqual(made);
  folder.release();
});

test("a class that a newer version brings is added, and no known key changes", async () => {
  const folder = await openDataFolder(root, { purpose: "platform" });
  const { classes, identity } = await loadInstanceSecrets(folder);
  const { mail, ...older } = classes;
  await writeFile(join(root, "secrets.json"), JSON.stringify({ classes: older, identity }));
  await chmod(join(root, "secrets.json"), 0o644);

  const completed = await loadInstanceSecrets(folder);
  expect(completed).toMatchObject({ classes: older, identity });
  expect(completed.classes.mail).not.toEqual(mail);
  expect((await stat(join(root, "secrets.json"))).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(join(root, "secrets.json"), "utf8"))).toEqual(completed);
  folder.release();
});

test.each(["", "{", "{}", '{"classes":{},"identity":{}}'])(
  "damaged secrets (%j) stop the start and are left alone",
  async (text) => {
    const folder = await openDataFolder(root, { purpose: "platform" });
    await writeFile(join(root, "secrets.json"), text);
    await expect(loadInstanceSecrets(folder)).rejects.toMatchObject({ code: "secrets_unusable" });
    expect(await readFile(join(root, "secrets.json"), "utf8")).toBe(text);
    folder.release();
  },
);

test("the guard leaves one file, which only its owner may open", async () => {
  const folder = await openDataFolder(root, { purpose: "platform" });
  expect((await readdir(root)).sort()).toEqual(["platform.json", "platform.lock"]);
  expect((await stat(join(root, "platform.lock"))).mode & 0o777).toBe(0o600);
  folder.release();
});
