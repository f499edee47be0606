/**
 * Upload sessions: who may send a folder, until when, and what has come. A session belongs to an organization, and to
 * one project where that was said; for anybody else it is not there. Rejected: uploads without a session (a broken
 * upload would have to be told from a whole one by its sender).
 */
import { and, count, eq, gt } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Database, Queryable } from "../../../shared/db/database.ts";
import { uploadSessions } from "../../../shared/db/deployment-tables.ts";
import { type Loaded, load } from "../../../shared/db/tenancy.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../../shared/domain/refusal.ts";
import type { BlobStore } from "../../../shared/ports/blob-store.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import { receiveArchive } from "./receive.ts";

export interface UploadParts {
  db: Database;
  clock: Clock;
  uploads: BlobStore;
  mode: "self-hosted" | "cloud";
}

export async function openUploadSession(
  { db, clock, mode }: UploadParts,
  principal: Principal,
  wanted: { projectId?: string | undefined; mode: "local" | "cloud" },
) {
  refuseFoldersInCloud(mode);
  if (wanted.mode === "cloud") throw await noFolderToCloud(db, principal);
  const { organizationId, userId } = principal;
  const nowMs = clock.nowMs();
  const expiresAt = new Date(nowMs + limits.uploadSessionMs);
  const id = newId("uploadSession", nowMs);
  await db.transaction(async (tx) => {
    const { id: projectId = null } =
      wanted.projectId === undefined ? {} : await load(tx, principal, "project", wanted.projectId);
    await refuseTooMany(tx, organizationId, nowMs);
    await tx.insert(uploadSessions).values({ id, organizationId, projectId, createdBy: userId, expiresAt });
    await writeAudit(tx, principal, {
      action: "upload_session.created",
      resource: { kind: "upload_session", id },
    });
  });
  return { uploadSessionId: id, expiresAt: expiresAt.toISOString(), maxBytes: limits.uploadBytes };
}

export interface UploadContent {
  contentType: string | undefined;
  body: ReadableStream<Uint8Array> | null;
  signal: AbortSignal;
}

export async function putContent(
  parts: UploadParts,
  principal: Principal,
  id: string,
  content: UploadContent,
) {
  const { db, clock, uploads: store } = parts;
  const session = await load(db, principal, "uploadSession", id);
  refuseExpired(session, clock.nowMs());
  refuseOtherType(content.contentType);
  if (content.body === null) throw invalid("body", "must be a gzip-compressed tar archive", "archive_empty");
  const tooLong = AbortSignal.timeout(limits.uploadMs);
  const signal = AbortSignal.any([content.signal, tooLong]);
  const { digest, bytes, unpackedBytes, entries } = await receiveArchive(content.body, {
    store,
    signal,
  }).catch((error: unknown) => {
    if (!signal.aborted || error instanceof Refusal) throw error;
    throw new Refusal("validation", "upload_cut_short", "The upload ended before it was whole.", {
      cause: error,
    });
  });
  refuseExpired(session, clock.nowMs());
  await db.transaction(async (tx) => {
    await tx.update(uploadSessions).set({ digest, bytes }).where(eq(uploadSessions.id, id));
    await writeAudit(tx, principal, {
      action: "upload_session.filled",
      resource: { kind: "upload_session", id },
      fields: ["content"],
    });
  });
  return { uploadSessionId: id, expiresAt: session.expiresAt.toISOString(), bytes, unpackedBytes, entries };
}

/** The stored upload of a session, for a deployment of this project. */
export async function uploadOf(
  { db, clock, uploads }: UploadParts,
  principal: Principal,
  id: string,
  projectId: string,
): Promise<string> {
  const session = await load(db, principal, "uploadSession", id);
  refuseExpired(session, clock.nowMs());
  if (session.projectId !== null && session.projectId !== projectId) {
    throw invalid("body.uploadSessionId", "belongs to another project", "upload_of_other_project");
  }
  if (session.digest === null) {
    const message = "has no content yet; send it with PUT /api/deployments/upload-sessions/:id/content";
    throw invalid("body.uploadSessionId", message, "upload_incomplete");
  }
  if (!(await uploads.keep(session.digest))) throw uploadGone();
  return session.digest;
}

export function uploadGone(): Refusal {
  return new Refusal(
    "validation",
    "upload_gone",
    "The upload is not kept any more; upload the folder again.",
  );
}

export function refuseFoldersInCloud(mode: UploadParts["mode"]): void {
  if (mode === "cloud") throw refuseFolders();
}

export function refuseFolders(): Refusal {
  return new Refusal(
    "forbidden",
    "folders_self_hosted_only",
    "Folders are deployed on self-hosted instances only.",
  );
}

/** Folders never go to the cloud; who has not linked one is told that first. */
async function noFolderToCloud(db: Queryable, { organizationId }: Principal): Promise<Refusal> {
  const linked = await db.$count(cloudLinks, eq(cloudLinks.organizationId, organizationId));
  return linked === 0 ? cloudNotLinked() : refuseFolders();
}

export function cloudNotLinked(): Refusal {
  return new Refusal("validation", "cloud_not_linked", "This instance is not linked to a cloud account.");
}

/** Counted without a lock: a few too many hurt nobody. */
async function refuseTooMany(tx: Queryable, organizationId: string, nowMs: number): Promise<void> {
  const [open] = await tx
    .select({ count: count() })
    .from(uploadSessions)
    .where(
      and(eq(uploadSessions.organizationId, organizationId), gt(uploadSessions.expiresAt, new Date(nowMs))),
    );
  if ((open?.count ?? 0) < limits.uploadSessionsOpen) return;
  const message = `The organization has ${limits.uploadSessionsOpen} uploads that are not over; wait until some are.`;
  throw new Refusal("validation", "too_many_uploads", message);
}

function refuseExpired({ expiresAt }: Loaded<"uploadSession">, nowMs: number): void {
  if (expiresAt.getTime() > nowMs) return;
  throw new Refusal(
    "validation",
    "upload_session_expired",
    "The upload session has run out; begin a new one.",
  );
}

/** What people send archives as; a form would hold the archive somewhere inside. */
function refuseOtherType(type: string | undefined): void {
  const name = type?.split(";", 1)[0]?.trim().toLowerCase();
  const taken = ["application/gzip", "application/x-gzip", "application/x-tar", "application/octet-stream"];
  if (name === undefined || taken.includes(name)) return;
  throw invalid("header.content-type", "must be application/gzip", "wrong_content_type");
}
