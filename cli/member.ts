/** `slipway member`: who belongs to the organization, and with which role. */
import { inviteMember, listMembers, removeMember, updateMember } from "../shared/contract/members.ts";
import { type Api, everything } from "./api/connect.ts";
import { only } from "./api/find.ts";
import type { Member } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

type Role = Member["role"];

const named = ["<member>", "e-mail, name or id"] as const;
const roleOf = ["<role>", "owner, admin, maintainer, member or viewer"] as const;

export const defineMember: Define = (command, context) => {
  const list = command
    .command("list")
    .description("Members of the organization.")
    .action(async () => {
      const members = await membersOf(await context.api());
      context.output.result(members, () =>
        table(
          ["E-MAIL", "NAME", "ROLE", "ID", "SINCE"],
          members.map((one) => [
            one.email,
            one.name,
            one.primaryOwner ? `${one.role} (primary)` : one.role,
            one.userId,
            ago(one.createdAt, context.now()),
          ]),
        ),
      );
    });
  const invite = command
    .command("invite")
    .description("Make a one-time link that lets somebody join. It holds for 7 days and is shown once.")
    .argument("<email>", "of the person")
    .option("--role <role>", roleOf[1], "member")
    .action(async (email: string, options: { role: string }) => {
      const json = { email, role: checkedRole(options.role) };
      const { data } = await (await context.api()).call(inviteMember, { json });
      // The link alone on stdout, so that it can be piped.
      context.output.note(`Give this link to ${data.email}; it is not shown again:`);
      context.output.result(data, () => data.url);
    });
  const role = command
    .command("role")
    .description("Change the role of a member. It counts at once.")
    .argument(...named)
    .argument(...roleOf)
    .action(async (name: string, wanted: string) => {
      const json = { role: checkedRole(wanted) };
      const api = await context.api();
      const { userId } = await findMember(api, name);
      const { data } = await api.call(updateMember, { params: { userId }, json });
      context.output.result(data, () => `${data.email} is ${data.role} now.`);
    });
  const remove = command
    .command("remove")
    .description("Remove a member. Sessions and tokens of that person stop working here at once.")
    .argument(...named)
    .option("--yes", "do not ask")
    .action(async (name: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const { userId, email } = await findMember(api, name);
      await context.ask.confirmOrYes(`Remove ${email} from the organization?`, options.yes);
      await api.call(removeMember, { params: { userId } });
      context.output.result({ userId, removed: true }, () => `Removed ${email}.`);
    });
  examples(list, "member list", "member list --json");
  examples(invite, "member invite ben@example.org", "member invite ben@example.org --role viewer --json");
  examples(role, "member role ben@example.org admin");
  examples(remove, "member remove ben@example.org --yes");
  examples(command, "member invite ben@example.org", "member list");
};

/** The one that is called so; the API's id of a member is the person's. */
export async function findMember(api: Api, name: string) {
  const members = (await membersOf(api)).map((one) => ({ ...one, id: one.userId }));
  return only("member", name, members, (one) => [one.email, one.name]);
}

function membersOf(api: Api): Promise<Member[]> {
  return everything((query) => api.call(listMembers, { query }));
}

/** By the contract's own schema, before anything is asked of the platform. */
function checkedRole(role: string): Role {
  const schema = updateMember.request.body.content["application/json"].schema;
  const checked = schema.safeParse({ role });
  if (checked.success) return checked.data.role;
  throw usage(`There is no role "${role}".`, `A role is ${roleOf[1]}.`);
}
