/**
 * Slack's incoming webhooks: blocks, and a text for notifications. The three characters of Slack's markup are escaped,
 * so that no name or commit message can mention a channel or disguise a link.
 */
import { limits } from "../../../shared/domain/limits.ts";
import type { Outgoing } from "../../../shared/ports/outgoing.ts";
import { judge, judgeFailure, type Message, type Outcome, type Send } from "./outcome.ts";

const emoji = { info: ":white_check_mark:", warning: ":warning:", error: ":red_circle:" } as const;
/** Slack refuses longer texts. */
const mostHeader = 140;
const mostSection = 2_900;

export function createSlackSender(outgoing: Outgoing): Send {
  return async ({ secret }, message) => {
    const request = {
      method: "POST",
      url: secret ?? "",
      headers: { "content-type": "application/json", "user-agent": "Slipway" },
      body: JSON.stringify(slackMessage(message)),
      deadlineMs: limits.sendMs,
    } as const;
    return outgoing.send(request).then(judgeSlack, judgeFailure);
  };
}

/** Slack says 404 for a hook that was removed; nothing will bring it back. */
function judgeSlack(answer: Parameters<typeof judge>[0]): Outcome {
  const outcome = judge(answer);
  const removed = answer.status === 404 && /no_service|no_team|channel_is_archived/.test(answer.text);
  return removed ? { ...outcome, result: "gone", code: "receiver_gone" } : outcome;
}

function slackMessage({ title, message, severity, link, count }: Message) {
  const repeated = count > 1 ? ` (${count} times)` : "";
  const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });
  return {
    text: escaped(`${title}${repeated}`),
    blocks: [
      section(`${emoji[severity]} *${escaped(title.slice(0, mostHeader))}*${repeated}`),
      ...(message === "" ? [] : [section(escaped(message.slice(0, mostSection)))]),
      ...(link === null ? [] : [section(`<${encodeURI(link).replaceAll(/[<>|]/g, "")}|Show it>`)]),
    ],
  };
}

function escaped(text: string): string {
  return text.toWellFormed().replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
