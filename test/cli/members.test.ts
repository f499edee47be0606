/** `slipway member` and `slipway organization` against a real edge and platform. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openInstance } from "./instance.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
const password = "correct horse battery";

const run = async (argv: string) => {
  const ended = await instance.home.run([...argv.split(" "), "--json"]);
  const printed = ended.code === 0 ? ended.stdout : ended.stderr;
  return { code: ended.code, data: JSON.parse(printed) };
};

beforeAll(async () => {
  instance = await openInstance();
  const made = await instance.home.run(
    ["init", "--org", "Acme", "--email", "ada@example.com", "--password-stdin", "--json"],
    { stdin: `${password}\n` },
  );
  const { token } = JSON.parse(made.stdout);
  await instance.home.run(["login", instance.url, "--token-stdin"], { stdin: `${token}\n` });
});
afterAll(() => instance.close());

describe("member", () => {
  it("invite prints a link that lets the person in with the role", async () => {
    const { stdout } = await instance.home.run(["member", "invite", "ben@example.com", "--role", "viewer"]);
    const link = new URL(stdout.trim());
    const accepted = await fetch(`${instance.url}/api/auth/accept-invitation`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: link.hash.slice(1), name: "Ben", password }),
    });
    expect(accepted.status).toBe(200);
    const { data } = await run("member list");
    expect(data.map((one: { email: string; role: string }) => [one.email, one.role])).toEqual([
      ["ben@example.com", "viewer"],
      ["ada@example.com", "owner"],
    ]);
  });

  it("role changes the one who is named, and knows the roles", async () => {
    expect((await run("member role ben owner")).data).toMatchObject({
      email: "ben@example.com",
      role: "owner",
    });
    const wrong = await run("member role ben king");
    expect([wrong.code, wrong.data.error]).toEqual([2, 'There is no role "king".']);
  });

  it("remove asks first, and says what the platform refuses", async () => {
    expect((await run("member remove ben")).code).toBe(2);
    const primary = await run("member remove ada@example.com --yes");
    expect([primary.code, primary.data.code]).toEqual([1, "primary_owner"]);
  });
});

describe("organization", () => {
  it("is renamed, listed, and its primary ownership transferred", async () => {
    expect((await run("organization rename Umbrella")).data.name).toBe("Umbrella");
    expect((await run("organization transfer ben --yes")).code).toBe(0);
    const [listed] = (await run("organization list")).data;
    const { data: members } = await run("member list");
    const ben = members.find((one: { email: string }) => one.email === "ben@example.com");
    expect([listed.name, listed.primaryOwnerId]).toEqual(["Umbrella", ben.userId]);
  });
});

it("a removed member is gone", async () => {
  await instance.home.run(["member", "invite", "eve@example.com"]);
  await run("organization transfer ada --yes");
  expect((await run("member remove ben --yes")).data).toMatchObject({ removed: true });
  expect((await run("member list")).data).toHaveLength(1);
});
