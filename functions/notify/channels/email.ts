/**
 * E-mail through the operator's mail server, as text and HTML. Subject and text hold names of strangers: a line break
 * in one would begin another header, so none gets that far, and recipients are given as objects, never as text that is
 * parsed again. The Message-ID is that of the delivery: mail systems drop a second one.
 */
import { limits } from "../../../shared/domain/limits.ts";
import { type Message, no, type Outcome, type Send, shown } from "./outcome.ts";

export interface Smtp {
  /** smtp: or smtps:, with user and password where needed. */
  url: string;
  from: string;
}

export function createEmailSender(smtp: Smtp | undefined): Send {
  if (smtp === undefined) return async () => notConfigured;
  return async ({ config }, message) => {
    // Loaded with the first mail: 30 MB that an instance without mail does not need.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      url: smtp.url,
      connectionTimeout: limits.sendMs,
      greetingTimeout: limits.sendMs,
      socketTimeout: limits.sendMs,
      dnsTimeout: limits.sendMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      const info = await within(
        transport.sendMail({ from: smtp.from, ...recipient(config.address), ...mail(message, smtp.from) }),
        3 * limits.sendMs,
      );
      return { result: "delivered", code: null, error: null, ...said(info.response) };
    } catch (error) {
      return judgeSmtp(error);
    } finally {
      transport.close();
    }
  };
}

const notConfigured: Outcome = no(
  "refused",
  "smtp_not_configured",
  "The platform has no mail server. An operator sets SLIPWAY_SMTP_URL and SLIPWAY_SMTP_FROM.",
  { status: null, response: null },
);

function recipient(address = "") {
  return { to: { name: "", address } };
}

function mail({ id, title, message, severity, link, count, category }: Message, from: string) {
  const subject = `${severity === "error" ? "[!] " : ""}${title}`.replaceAll(/[\p{Cc}\s]+/gu, " ").trim();
  const repeated = count > 1 ? `This happened ${count} times.` : "";
  const parts = [message, repeated, link ?? ""].filter((part) => part !== "");
  const host = /@([A-Za-z0-9.-]+)>?$/.exec(from)?.[1] ?? "localhost";
  return {
    subject,
    messageId: `<${id}@${host}>`,
    headers: { "Auto-Submitted": "auto-generated", "X-Slipway-Category": category },
    text: `${[title, ...parts].join("\n\n")}\n`,
    html: htmlOf(title, [message, repeated], link),
  };
}

function htmlOf(title: string, paragraphs: readonly string[], link: string | null): string {
  const body = paragraphs
    .filter((text) => text !== "")
    .map((text) => `<p style="white-space:pre-line">${escaped(text)}</p>`)
    .join("");
  const more = link === null ? "" : `<p><a href="${escaped(link)}">Show it</a></p>`;
  return `<!doctype html><html><body style="font-family:sans-serif"><h2>${escaped(title)}</h2>${body}${more}</body></html>`;
}

function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (letter) => entities[letter] ?? "");
}

/** A mail server's 5xx is about this message; everything else passes, a wrong password of the operator's included. */
function judgeSmtp(error: unknown): Outcome {
  const { responseCode, response, code } = error as {
    responseCode?: number;
    response?: string;
    code?: string;
  };
  const seen = { status: responseCode ?? null, response: response === undefined ? null : shown(response) };
  const permanent = (responseCode ?? 0) >= 500 && code !== "EAUTH" && code !== "ECONNECTION";
  if (permanent) return no("refused", "mail_refused", `The mail server refused it (${responseCode}).`, seen);
  if (responseCode !== undefined) {
    return no("retry", "mail_failed", `The mail server answered ${responseCode}.`, seen);
  }
  return no(
    "retry",
    "mail_unreachable",
    `The mail server could not be used${code ? ` (${code})` : ""}.`,
    seen,
  );
}

function said(response: string | undefined) {
  const status = Number(/^\d{3}/.exec(response ?? "")?.[0]);
  return { status: Number.isNaN(status) ? null : status, response: shown(response ?? "") };
}

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error("late"), { code: "ETIMEDOUT" })), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
