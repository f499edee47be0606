/**
 * Where a one-time link leads: name and password, then a first access token, since that is what a new member needs
 * next. The token of the link stands behind its #, which only a script can read, so this is the one page with a script;
 * it may run under the policy by its nonce and talk to this instance alone.
 */
import { html, raw } from "hono/html";
import { limits } from "../../shared/domain/limits.ts";

export function renderAcceptInvitation(nonce: string): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Join on Slipway</title>
<style>${raw(style)}</style>
</head>
<body>
<main>
<h1>You are invited</h1>
<form id="join">
<label>Your name<input name="name" autocomplete="name" required maxlength="100" autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required>
<small>A new one of at least ${limits.passwordLeast} characters; where you have an account on this instance, the password of that account.</small></label>
<button>Join</button>
</form>
<section id="joined" hidden>
<p>You are a member of <b id="organization"></b>.</p>
<button id="make" type="button">Make an access token</button>
<div id="made" hidden>
<p>Shown this once. It may do what you may do; keep it like a password.</p>
<pre id="token"></pre>
<p>On the command line:</p>
<pre id="command"></pre>
</div>
</section>
<p id="problem" role="alert" hidden></p>
<noscript><p>This page reads the link with a script; please allow it.</p></noscript>
</main>
<script nonce="${nonce}">${raw(script)}</script>
</body>
</html>
`);
}

export function acceptInvitationPolicy(nonce: string): string {
  return `default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

const style = `
:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 26rem; margin: 4rem auto; padding: 0 1rem; }
[hidden] { display: none !important; }
form, label { display: grid; gap: .35rem; }
form { gap: 1rem; }
input, button { font: inherit; padding: .5rem .75rem; border: 1px solid #8888; border-radius: .4rem; }
button { background: #1a5fb4; color: #fff; border-color: #1a5fb4; cursor: pointer; }
button:disabled { opacity: .6; cursor: default; }
small { opacity: .75; }
pre { background: #8881; padding: .75rem 1rem; border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere; }
#problem { border-left: .25rem solid #c01c28; padding-left: .75rem; }
`;

const script = `
"use strict";
const by = (id) => document.getElementById(id);
const token = location.hash.slice(1);
// Out of the address bar and the history: whoever looks over a shoulder finds nothing to use.
history.replaceState(null, "", location.pathname);
const say = (text) => { by("problem").textContent = text; by("problem").hidden = text === ""; };
const ask = async (path, body, button, more) => {
  say("");
  button.disabled = true;
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...more },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30000),
    });
    const told = await answer.json();
    if (answer.ok) return told.data;
    say(told.error);
  } catch {
    say("The platform does not answer. Check your connection, then try again.");
  } finally {
    button.disabled = false;
  }
};
if (token === "") {
  by("join").hidden = true;
  say("This address is no invitation: the part behind # is missing. Open the whole link, or ask for a new one.");
}
let organizationId = "";
by("join").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(by("join"));
  const body = { token, name: form.get("name"), password: form.get("password") };
  const session = await ask("/api/auth/accept-invitation", body, by("join").querySelector("button"));
  if (session === undefined) return;
  organizationId = session.organization.id;
  by("organization").textContent = session.organization.name;
  by("join").hidden = true;
  by("joined").hidden = false;
});
by("make").addEventListener("click", async () => {
  const made = await ask("/api/tokens", { name: "First token" }, by("make"), { "x-organization-id": organizationId });
  if (made === undefined) return;
  by("token").textContent = made.token;
  by("command").textContent = "slipway login " + location.origin;
  by("make").hidden = true;
  by("made").hidden = false;
});
`;
