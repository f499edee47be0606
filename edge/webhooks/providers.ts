/** Names under which deliveries may come. A provider is registered here or it does not exist (spec.md "Webhooks"). */
const registered: Record<string, string> = {
  git_host: "git_host",
  /** Hooks that were made by hand after the habit of the best known git host. */
  github: "git_host",
};

/** The provider's own name, or null when none is configured under this one. */
export function providerOf(name: string): string | null {
  return Object.hasOwn(registered, name) ? (registered[name] ?? null) : null;
}

/** Exactly the body that spec.md prints. */
export function unknownProvider(name: string): Response {
  return Response.json({ error: `Webhook provider '${name}' is not configured` }, { status: 404 });
}
