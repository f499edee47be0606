/**
 * A git host as the platform meets it: every delivery has an id and a signature, comes from any of many addresses, is
 * sent again until it is accepted, and sometimes several times although it was. A load of thousands over few
 * connections; it says what became of each.
 */
import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import type { Repository } from "./repositories.ts";

export interface Delivery {
  id: string;
  repository: Repository;
  /** false: of a branch that nothing deploys. */
  deploys: boolean;
  after: string;
  body: string;
  signature: string;
  copies: number;
}

/** Deterministic, so that a red run can be had again. */
export type Random = () => number;

export function makeDeliveries(
  repositories: readonly Repository[],
  count: number,
  random: Random,
): Delivery[] {
  return Array.from({ length: count }, (_, index) => {
    const repository = repositories[index % repositories.length];
    if (repository === undefined) throw new Error("no repositories");
    const deploys = random() < 0.9;
    const after = sha(random);
    const body = JSON.stringify({
      ref: `refs/heads/${deploys ? "main" : "elsewhere"}`,
      before: sha(random),
      after,
      deleted: false,
      repository: { full_name: repository.fullName, default_branch: "main" },
      head_commit: { id: after, message: `Change ${index}` },
    });
    const signature = createHmac("sha256", repository.secret).update(body).digest("hex");
    const copies = random() < 0.25 ? 2 + Math.floor(random() * 4) : 1;
    return { id: `chaos-${index}-${after.slice(0, 8)}`, repository, deploys, after, body, signature, copies };
  });
}

export interface GitHost {
  /** Deliveries that had an answer of 200. */
  accepted: ReadonlySet<string>;
  /** How often each outcome came: a status, or what broke. */
  outcomes: ReadonlyMap<string, number>;
  /** Resolves when every copy was accepted; rejects when one was not in time. */
  done: Promise<void>;
}

export interface GitHostOptions {
  deliveries: readonly Delivery[];
  /** Asked for each try: it may have moved. */
  url(): string;
  /** In which header the platform's host or proxy says where a request comes from. */
  sourceHeader: "x-forwarded-for" | "cf-connecting-ip";
  connections: number;
  random: Random;
  /** No delivery is sent again after this time. */
  withinMs: number;
}

/** A real one waits longer; the next try after a loss should meet the platform while it is still coming up. */
const againMs = 400;
const answerMs = 10_000;

export function startGitHost(options: GitHostOptions): GitHost {
  const { deliveries, random, connections } = options;
  const accepted = new Set<string>();
  const outcomes = new Map<string, number>();
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const endMs = Date.now() + options.withinMs;
  const copies = spread(deliveries, random);
  let next = 0;
  const sendInTurn = async (): Promise<void> => {
    for (let delivery = copies[next++]; delivery !== undefined; delivery = copies[next++]) {
      for (;;) {
        const outcome = await send(agent, delivery, options);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome.startsWith("200")) break;
        if (Date.now() > endMs)
          throw new Error(`${delivery.id} was never accepted; the last try: ${outcome}`);
        await new Promise((resolve) => setTimeout(resolve, againMs * (0.5 + random())));
      }
      accepted.add(delivery.id);
    }
  };
  const done = Promise.all(Array.from({ length: connections }, sendInTurn))
    .then(() => undefined)
    .finally(() => agent.destroy());
  return { accepted, outcomes, done };
}

/** Half of the copies follow each other at once, so that they meet; the others come at any time. */
function spread(deliveries: readonly Delivery[], random: Random): Delivery[] {
  const placed = deliveries.flatMap((delivery, place) =>
    Array.from({ length: delivery.copies }, (_, copy) => ({
      delivery,
      at: copy === 0 || random() < 0.5 ? place : place + random() * (deliveries.length - place),
    })),
  );
  return placed.sort((one, other) => one.at - other.at).map(({ delivery }) => delivery);
}

function send(
  agent: Agent,
  delivery: Delivery,
  { url, sourceHeader, random }: GitHostOptions,
): Promise<string> {
  return new Promise((resolve) => {
    const sending = request(
      `${url()}/api/webhooks/git_host`,
      {
        agent,
        method: "POST",
        timeout: answerMs,
        headers: {
          "content-type": "application/json",
          "content-length": delivery.body.length,
          "x-hub-signature-256": `sha256=${delivery.signature}`,
          "x-provider-event": "push",
          "x-provider-delivery": delivery.id,
          [sourceHeader]: `10.${byte(random)}.${byte(random)}.${byte(random)}`,
        },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        answer.once("end", () => resolve(outcomeOf(answer.statusCode, text)));
        answer.once("error", (error) => resolve(nameOf(error)));
      },
    );
    sending.once("timeout", () => sending.destroy(new Error("no answer in time")));
    sending.once("error", (error) => resolve(nameOf(error)));
    sending.end(delivery.body);
  });
}

/** 200 with the status that the platform gives it; a half answer is none. */
function outcomeOf(status: number | undefined, text: string): string {
  if (status !== 200) return String(status);
  try {
    const { success, status: given } = JSON.parse(text) as { success: boolean; status?: string };
    return `200 ${success ? given : "stored, to be handled"}`;
  } catch {
    return "broken off";
  }
}

function nameOf(error: Error): string {
  return "code" in error ? String(error.code) : error.message;
}

function sha(random: Random): string {
  return Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join("");
}

function byte(random: Random): number {
  return Math.floor(random() * 256);
}
