/** Schemas that several modules use: errors, ids, names, pages, times (decisions.md section 1). */
import { z } from "@hono/zod-openapi";
import { idForm } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";

export const errorBody = z
  .object({
    error: z.string().openapi({ description: "One sentence that a person can act on." }),
    code: z.string().openapi({ description: "Stable, snake_case." }),
    details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    success: z.literal(false).optional().openapi({ description: "In the deployments module only." }),
  })
  .openapi("Error");

/** Opaque to clients; bounded so that a hostile one costs nothing. */
export const id = z.string().min(1).max(64);
export const idParameter = z.object({ id: id.openapi({ param: { name: "id", in: "path" } }) });

/** Text of a person: no control characters, so that it can stand in a log line, a header or a label. */
export const name = z
  .string()
  .trim()
  .min(1)
  .max(limits.nameLength)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, "must not contain line breaks or control characters");

export const time = z.iso.datetime().openapi({ description: "ISO 8601, UTC" });

/** RFC 1123, lower-case; IDN is given as punycode. */
export const hostname = z
  .string()
  .max(253)
  .regex(
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    "must be a host name in lower case (IDN as punycode)",
  );

export const port = z.number().int().min(1).max(65_535);

/** `nextCursor` of the page before, which is an id: anything else would be answered with some page or other. */
export const cursor = z
  .string()
  .regex(idForm, "must be `nextCursor` of the page before; leave it out for the first page")
  .optional();

/** Query of every list. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(limits.pageMost).default(limits.pageDefault),
  cursor,
});

/** Compared and stored in lower case. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}.]+(\.[^\s@\p{Cc}.]+)*$/u, "must be an e-mail address");

/** Of a new account or a new password; what is compared with a stored one may be anything. */
export const password = z.string().min(limits.passwordLeast).max(limits.passwordMost);

export const deleted = z.object({ success: z.literal(true) });

/** A git branch by the rules of git-check-ref-format, without a leading dash. */
export const branch = z
  .string()
  .min(1)
  .max(244)
  .regex(
    /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)))[^\p{Cc}\p{Cs} ~^:?*[\\]+(?<![/.])$/u,
    "must be a valid branch name",
  );

/** A path inside a repository or an image: relative, without `..`. */
export const relativePath = z
  .string()
  .min(1)
  .max(500)
  .regex(/^(?!\/)(?!-)(?!.*(?:^|\/)\.\.(?:\/|$))[^\p{Cc}\\]+$/u, "must be a relative path without `..`");

/** `<type> <base64>`, as `ssh-keyscan` prints it behind the host. */
export const hostKey = z
  .string()
  .max(2_000)
  .regex(
    /^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+={0,2}$/,
    "must be `<type> <base64>`",
  );

/** Owner or name of a repository at a git host. */
export const repositoryPart = z
  .string()
  .max(100)
  .regex(/^(?![.-])[A-Za-z0-9._-]+$/, "must be letters, digits, dot, dash or underscore");
