/** What a person sees who opens the platform's address: that it runs, and the next step. */
import { html } from "hono/html";

export function renderLanding(version: string): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Slipway</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
pre { background: #8881; padding: .75rem 1rem; overflow-x: auto; border-radius: .4rem; }
:root { color-scheme: light dark; }
</style>
</head>
<body>
<h1>Slipway is running</h1>
<p>Version ${version}. The API is described at <a href="/api/docs">/api/docs</a>
(as a document for tools: <a href="/api/openapi.json">/api/openapi.json</a>).</p>
<p>Next: make an organization and a token, then add a server.</p>
<pre>npm run -s slipway -- init --help</pre>
</body>
</html>
`);
}
