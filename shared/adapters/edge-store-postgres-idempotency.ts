/**
 * First answers to requests with an Idempotency-Key. One insert decides who is first, whatever comes at the same
 * moment; a row older than a day counts as none.
 */
import { and, eq, isNull, lt, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { idempotencyAnswers as answers } from "../db/request-tables.ts";
import { limits } from "../domain/limits.ts";
import type { IdempotencyStore, IdempotentRequest } from "../ports/edge-store.ts";

export function createPostgresIdempotency(db: Database): IdempotencyStore {
  return {
    async claim(request) {
      const [mine] = await db
        .insert(answers)
        .values(request)
        .onConflictDoUpdate({
          target: [answers.credentialId, answers.keyHash],
          set: { ...request, sealedAnswer: null, createdAt: sql`now()` },
          setWhere: lt(answers.createdAt, yesterday),
        })
        .returning({ keyHash: answers.keyHash });
      if (mine !== undefined) return "claimed";
      const [first] = await db
        .select({
          requestHash: answers.requestHash,
          sealedAnswer: answers.sealedAnswer,
          ageMs: sql<number>`(extract(epoch from now() - ${answers.createdAt}) * 1000)::float8`,
        })
        .from(answers)
        .where(isOf(request));
      // Let go of at this moment: as if it were under way, so that the caller asks once more.
      return first ?? { requestHash: request.requestHash, sealedAnswer: null, ageMs: 0 };
    },
    async keep(request, sealedAnswer) {
      await db.update(answers).set({ sealedAnswer }).where(isUnanswered(request));
    },
    async release(request) {
      await db.delete(answers).where(isUnanswered(request));
    },
    async purge() {
      await db.delete(answers).where(lt(answers.createdAt, yesterday));
    },
  };
}

const yesterday = sql`now() - make_interval(secs => ${limits.idempotencyMs / 1000})`;

function isOf({ credentialId, keyHash }: IdempotentRequest) {
  return and(eq(answers.credentialId, credentialId), eq(answers.keyHash, keyHash));
}

function isUnanswered(request: IdempotentRequest) {
  return and(isOf(request), eq(answers.requestHash, request.requestHash), isNull(answers.sealedAnswer));
}
