/** A browser as far as the API can tell: it keeps cookies and says where its requests come from. */
import type { openWholeApi } from "./whole-api.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
export type Answer = { status: number; body: any; headers: Headers };

export const password = "correct horse battery";

export function openBrowser(api: Pick<Awaited<ReturnType<typeof openWholeApi>>, "send">, from = "192.0.2.1") {
  let cookie: string | null = null;
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = { "sec-fetch-site": "same-origin" },
  ): Promise<Answer> => {
    const answer = await api.send(path, {
      method,
      from,
      headers: {
        ...(cookie === null ? {} : { cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const [pair = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
    if (pair !== "") cookie = pair.endsWith("=") ? null : pair;
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? null : JSON.parse(text), headers: answer.headers };
  };
  return {
    call,
    cookie: () => cookie,
    plant: (value: string) => {
      cookie = value;
    },
    signIn: (email: string, secret = password) =>
      call("POST", "/api/auth/sign-in", { email, password: secret }),
  };
}
