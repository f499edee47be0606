/** The registry of categories, held against what the product does, and the states of deliveries. */
import { describe, expect, it } from "vitest";
import { type DeliveryEvent, deliveryStates, sourcesOf } from "../../../functions/notify/states.ts";
import { allRoutes } from "../../../shared/contract/all-routes.ts";
import { type Category, categories, deliveryStatuses } from "../../../shared/domain/notification.ts";
import { isPermission, permissionsOfRole } from "../../../shared/domain/permission.ts";
import { productSources } from "../../tidy/sources.ts";

const mounted = new Set(allRoutes.map(({ path }) => path));

/** Where the name of a category stands beside a call that raises it. */
function raisersOf(id: string, sources: readonly { path: string; text: string }[]): string[] {
  return sources
    .filter(({ path }) => /^(functions|edge|shared\/adapters)\//.test(path))
    .filter(({ text }) => text.includes(`"${id}"`) && /raiseAlert\(|insert into alerts/.test(text))
    .map(({ path }) => path);
}

const isDue = ({ comesWith }: Category) => mounted.has(comesWith);

describe("the registry", () => {
  it("holds every category that the API promises", () => {
    expect(categories.map(({ id }) => id)).toEqual([
      ...[
        "deploy.succeeded",
        "deploy.failed",
        "deploy.partial",
        "deploy.cancelled",
        "deploy.needs_attention",
      ],
      ...["backup.succeeded", "backup.failed", "backup.drill_failed", "restore.completed", "restore.failed"],
      ...[
        "domain.expiring",
        "domain.renewal_failed",
        "server.unreachable",
        "server.recovered",
        "server.disk_low",
      ],
      ...["mail.setup_completed", "mail.setup_failed", "mail.dns_unhealthy", "mail.component_down"],
      ...["webhook.rejected", "member.added", "member.removed", "token.created"],
    ]);
    for (const { permission } of categories) expect(isPermission(permission)).toBe(true);
    for (const { permission } of categories) expect(permissionsOfRole("owner").has(permission)).toBe(true);
  });

  it.each(categories.filter(isDue).map((category) => category.id))("%s is raised by something", (id) => {
    expect(raisersOf(id, productSources)).not.toEqual([]);
  });

  it("of what is not mounted yet waits for its route", () => {
    const due = categories.filter(isDue).map(({ id }) => id);
    expect(due).toEqual(
      expect.arrayContaining([
        "deploy.failed",
        "server.unreachable",
        "webhook.rejected",
        "member.added",
        "token.created",
      ]),
    );
    expect(
      raisersOf("deploy.failed", [{ path: "functions/x.ts", text: 'const a = "deploy.failed";' }]),
    ).toEqual([]);
  });
});

describe("a delivery", () => {
  const events: DeliveryEvent[] = ["take", "deliver", "postpone", "refuse", "suppress"];
  it.each(deliveryStatuses)("in %s takes these events and no other", (status) => {
    const table: Record<string, Record<string, string>> = deliveryStates;
    const led = Object.fromEntries(
      events.flatMap((event) => {
        const to = table[status]?.[event];
        return to === undefined ? [] : [[event, to]];
      }),
    );
    const expected: Record<string, Record<string, string>> = {
      queued: { take: "sending", suppress: "suppressed" },
      sending: {
        ...{ take: "sending", deliver: "sent", postpone: "queued", refuse: "failed", suppress: "suppressed" },
      },
    };
    expect(led).toEqual(expected[status] ?? {});
  });

  it("is moved by a statement only out of the statuses that the table lists", () => {
    expect([sourcesOf("deliver"), sourcesOf("suppress")]).toEqual([["sending"], ["queued", "sending"]]);
  });
});
